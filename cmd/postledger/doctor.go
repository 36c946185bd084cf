package main

import (
	"github.com/postledger/postledger/internal/app/doctor"
)

type doctorCmd struct {
	NoLogin bool `help:"Do not connect to the profiles' next hops."`
	JSON    bool `name:"json" help:"Print JSON."`
}

func (c *doctorCmd) Run(e *env) error {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	findings := doctor.Examine(e.ctx, cfg, doctor.Options{Login: !c.NoLogin})
	bad := 0
	rows := make([][]string, len(findings))
	for i, f := range findings {
		state := "ok"
		if !f.OK {
			state = "FAULT"
			bad++
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
