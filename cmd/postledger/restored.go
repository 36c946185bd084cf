package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/ledger"
)

type restoredCmd struct {
	At     string `help:"Up to when deliveries may have left (RFC 3339); default now." placeholder:"TIME" xor:"moment"`
	Resume bool   `help:"Finish a marking that was interrupted, up to its own time: what was accepted since stays queued. Not after putting back a backup." xor:"moment"`
}

// Run marks what was open in a restored ledger: it may have been sent since
// the backup was taken, so none of it leaves by itself (invariant 17).
func (c *restoredCmd) Run(e *env) (err error) {
	var at time.Time
	if c.At != "" {
		if at, err = time.Parse(time.RFC3339, c.At); err != nil {
			return usage("--at: want a time such as 2026-05-05T10:00:00Z")
		}
	}
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	lock, err := lockEmbedded(cfg)
	if err != nil {
		return err
	}
	l, err := app.OpenLedger(e.ctx, cfg, app.Existing, slog.New(slog.DiscardHandler))
	if err != nil {
		return errors.Join(err, lock.Release())
	}
	defer func() { err = errors.Join(err, l.Close(), lock.Release()) }()
	now, err := l.Now(e.ctx)
	if err != nil {
		return err
	}
	if at.After(now) {
		return usage("--at: must not be in the future (the ledger's clock says %s)", now.UTC().Format(time.RFC3339))
	}
	if err := nobodyServes(e.ctx, l, cfg, now); err != nil {
		return err
	}
	var n int
	if c.Resume {
		n, at, err = deliver.ResumeMarking(e.ctx, l)
	} else {
		n, at, err = deliver.MarkRestored(e.ctx, l, at)
	}
	switch {
	case errors.Is(err, deliver.ErrNotMarking):
		return usage("--resume: no marking was interrupted")
	case err != nil:
		return fmt.Errorf("%w (%d were marked; run it again)", err, n)
	}
	a := audit(l, "ledger.restored", "ledger", "")
	a.Detail = fmt.Sprintf("%d deliveries accepted up to %s", n, at.UTC().Format(time.RFC3339))
	if err := l.AppendAudit(e.ctx, a); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "%d deliveries that were open and accepted up to %s are unconfirmed/restored now. Decide with `postledger messages resolve`.\n",
		n, at.UTC().Format(time.RFC3339))
	return err
}

// nobodyServes refuses while a process has written a heartbeat a moment ago.
// On SQLite the lock has said it already.
func nobodyServes(ctx context.Context, l *ledger.Ledger, cfg *config.Config, now time.Time) error {
	if l.SQLite() {
		return nil
	}
	living, err := l.Workers(ctx)
	if err != nil {
		return err
	}
	for i := range living {
		if now.Sub(living[i].BeatAt) < cfg.Timings.StaleAfter {
			return fmt.Errorf("a process on %s serves this ledger, or did so %s ago: stop every process first", living[i].Host, now.Sub(living[i].BeatAt).Round(time.Second))
		}
	}
	return nil
}
