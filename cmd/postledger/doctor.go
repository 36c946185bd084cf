package main

import (
	"log/slog"
	"net"

	"github.com/postledger/postledger/internal/app/doctor"
)

type doctorCmd struct {
	NoLogin bool `help:"Do not connect to the profiles' next hops."`
	NoDNS   bool `name:"no-dns" help:"Do not look for the profiles' DKIM records and mail exchangers."`
	JSON    bool `name:"json" help:"Print JSON."`
}

func (c *doctorCmd) Run(e *env) error {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	o := doctor.Options{Login: !c.NoLogin, DNS: net.DefaultResolver}
	if c.NoDNS {
		o.DNS = nil
	}
	logRedis(slog.New(slog.DiscardHandler)) // what it finds stands in the table
	findings := doctor.Examine(e.ctx, cfg, o)
	bad := 0
	rows := make([][]string, len(findings))
	for i, f := range findings {
		state := "ok"
		switch {
		case !f.OK:
			state = "FAULT"
			bad++
		case f.Warning:
			state = "warning"
		}
		rows[i] = []string{state, f.What, f.Says}
	}
	if c.JSON {
		err = printJSON(e.stdout, findings)
	} else {
		err = table(e.stdout, "STATE WHAT FINDING", rows)
	}
	if err == nil && bad > 0 {
		return errDifference
	}
	return err
}
