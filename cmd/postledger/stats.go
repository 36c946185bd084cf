package main

import (
	"fmt"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

type statsCmd struct {
	remote
	App     string    `help:"An app's id (operators only)." placeholder:"ID"`
	Profile string    `help:"A profile's name or id." placeholder:"NAME"`
	Lane    string    `help:"immediate or bulk." enum:",immediate,bulk" default:""`
	Since   time.Time `help:"From this hour (RFC 3339); default 24 hours before --until." placeholder:"TIME"`
	Until   time.Time `help:"Until this hour (RFC 3339); default now." placeholder:"TIME"`
}

func (c *statsCmd) Run(e *env) error {
	app, err := optionalID("--app", c.App)
	if err != nil {
		return err
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	s, err := cl.Stats(e.ctx, client.StatsFilter{App: app, Profile: c.Profile, Lane: lane(c.Lane), Since: c.Since, Until: c.Until})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, s)
	}
	return list(e, false, s.Hours, "HOUR MESSAGES DELIVERIES SENT SANDBOX FAILED UNCONFIRMED OTHER", func(h *client.HourStats) []string {
		var sent, sandbox, failed, unconfirmed, other int64
		for _, n := range h.Settled {
			switch {
			case n.Reason == postledger.ReasonSandbox:
				sandbox += n.N
			case n.Status == postledger.StatusSent:
				sent += n.N
			case n.Status == postledger.StatusFailed:
				failed += n.N
			case n.Status == postledger.StatusUnconfirmed:
				unconfirmed += n.N
			default:
				other += n.N
			}
		}
		row := []string{h.Hour.UTC().Format("2006-01-02 15:04")}
		for _, n := range []int64{h.Messages, h.Deliveries, sent, sandbox, failed, unconfirmed, other} {
			row = append(row, fmt.Sprint(n))
		}
		return row
	})
}
