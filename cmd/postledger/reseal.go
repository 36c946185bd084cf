package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/hop"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/webhook"
)

type resealCmd struct{}

// Run seals every profile's and webhook's secrets with the current encryption key.
// Each is one write that demands what was read, so it can be repeated and run beside
// servers.
func (c *resealCmd) Run(e *env) (err error) {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	ring, err := cfg.Keyring()
	if err != nil {
		return &usageError{err}
	}
	l, err := openExisting(e, cfg, app.Existing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	profiles, err := l.Profiles(e.ctx)
	if err != nil {
		return err
	}
	f := hop.New(ring, nil, slog.New(slog.DiscardHandler))
	n := 0
	var faults []error
	for _, p := range profiles {
		if !p.RemovedAt.IsZero() {
			continue
		}
		sealed, changed, err := f.Reseal(p)
		if err == nil && changed {
			p.Secrets = sealed
			if _, err = l.PutProfile(e.ctx, p, p.Revision, audit(l, "profile.reseal", "profile", p.ID.String())); err == nil {
				n++
			}
		}
		if errors.Is(err, ledger.ErrRevisionConflict) {
			err = errors.New("it was changed meanwhile: run this again")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("profile %s: %w", p.Name, err))
		}
	}
	hooks, err := resealWebhooks(e.ctx, l, webhook.NewSealer(ring))
	faults = append(faults, err)
	fmt.Fprintf(e.stdout, "resealed the secrets of %d profiles and %d webhooks\n", n, hooks)
	return errors.Join(faults...)
}
