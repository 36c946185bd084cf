package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/upkeep"
)

type retentionCmd struct {
	Show retentionShowCmd `cmd:"" help:"Show how long things are kept."`
	Set  retentionSetCmd  `cmd:"" help:"Change how long things are kept."`
	Run  retentionRunCmd  `cmd:"" help:"Remove now what need not be kept, directly in the database; servers do it every 15 minutes."`
}

type retentionShowCmd struct{ remote }

func (c *retentionShowCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	r, err := cl.Retention(e.ctx)
	if err != nil {
		return err
	}
	return printRetention(e, r, c.JSON)
}

func printRetention(e *env, r *client.Retention, asJSON bool) error {
	if asJSON {
		return printJSON(e.stdout, r)
	}
	return table(e.stdout, "WHAT DAYS", [][]string{
		{"content", fmt.Sprint(r.ContentDays)},
		{"record", fmt.Sprint(r.RecordDays)},
		{"key", fmt.Sprint(r.KeyDays)},
		{"audit", fmt.Sprint(r.AuditDays)},
	})
}

type retentionSetCmd struct {
	remote
	ContentDays *int `help:"Days for bodies, headers and attachments."`
	RecordDays  *int `help:"Days for messages, deliveries and their history."`
	KeyDays     *int `help:"Days for idempotency keys; not less than --record-days."`
	AuditDays   *int `help:"Days for the audit trail."`
}

func (c *retentionSetCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	r, err := cl.Retention(e.ctx)
	if err != nil {
		return err
	}
	any := false
	for _, f := range []struct {
		flag *int
		days *int
	}{{c.ContentDays, &r.ContentDays}, {c.RecordDays, &r.RecordDays}, {c.KeyDays, &r.KeyDays}, {c.AuditDays, &r.AuditDays}} {
		if f.flag != nil {
			*f.days, any = *f.flag, true
		}
	}
	if !any {
		return usage("nothing to set: give at least one of --content-days, --record-days, --key-days, --audit-days")
	}
	if r, err = cl.PutRetention(e.ctx, *r); err != nil {
		return err
	}
	return printRetention(e, r, c.JSON)
}

type retentionRunCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *retentionRunCmd) Run(e *env) (err error) {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	l, err := openExisting(e, cfg, app.Existing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	store, err := app.OpenBlobs(cfg, app.Existing, version, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	k := upkeep.Keeper{Ledger: l, Blobs: store, Log: slog.New(slog.DiscardHandler)}
	s, err := k.Pass(e.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, s)
	}
	return table(e.stdout, "REMOVED COUNT", [][]string{
		{"contents", fmt.Sprint(s.Contents)},
		{"messages", fmt.Sprint(s.Messages)},
		{"deliveries", fmt.Sprint(s.Deliveries)},
		{"idempotency keys", fmt.Sprint(s.Keys)},
		{"audit lines", fmt.Sprint(s.Audit)},
		{"attachments", fmt.Sprint(s.Blobs)},
		{"interrupted uploads", fmt.Sprint(s.Uploads)},
		{"kept: not settled", fmt.Sprint(s.KeptOpen)},
		{"kept: unconfirmed", fmt.Sprint(s.KeptUnconfirmed)},
	})
}
