package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/ledger"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Bring the schema to this binary's version."`
	Down   migrateDownCmd   `cmd:"" help:"Undo the newest migration; refused while anything is not settled."`
	Status migrateStatusCmd `cmd:"" help:"List the migrations. Exit code 1 when one is missing."`
}

type migrateUpCmd struct{}

func (c *migrateUpCmd) Run(e *env) error {
	return migrate(e, func(ctx context.Context, l *ledger.Ledger) error { return l.Migrate(ctx) })
}

type migrateDownCmd struct{}

func (c *migrateDownCmd) Run(e *env) error {
	return migrate(e, func(ctx context.Context, l *ledger.Ledger) error { return l.MigrateDown(ctx) })
}

// migrate changes the schema. The embedded ledger must not be served
// meanwhile: its server migrates by itself, and would lose its tables by a
// migration down.
func migrate(e *env, change func(context.Context, *ledger.Ledger) error) (err error) {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	lock, err := lockEmbedded(cfg)
	if err != nil {
		return err
	}
	l, err := app.OpenLedger(e.ctx, cfg, app.Unchecked, slog.New(slog.DiscardHandler))
	if err != nil {
		return errors.Join(err, lock.Release())
	}
	defer func() { err = errors.Join(err, l.Close(), lock.Release()) }()
	if err := change(e.ctx, l); err != nil {
		return err
	}
	_, err = printMigrations(e, l)
	return err
}

// lockEmbedded claims the embedded ledger; PostgreSQL needs no claim.
func lockEmbedded(cfg *config.Config) (*app.Lock, error) {
	if !cfg.Database.Embedded() {
		return nil, nil
	}
	return app.LockSQLite(cfg.Database.Path())
}

type migrateStatusCmd struct{}

func (c *migrateStatusCmd) Run(e *env) (err error) {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	l, err := openExisting(e, cfg, app.Unchecked)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	missing, err := printMigrations(e, l)
	if err == nil && missing {
		return errDifference
	}
	return err
}

func printMigrations(e *env, l *ledger.Ledger) (missing bool, err error) {
	list, err := l.Migrations(e.ctx)
	if err != nil {
		return false, err
	}
	rows := make([][]string, len(list))
	for i, m := range list {
		state := "applied"
		if !m.Applied {
			state, missing = "missing", true
		}
		rows[i] = []string{fmt.Sprint(m.Version), m.Name, state}
	}
	return missing, table(e.stdout, "VERSION NAME STATE", rows)
}
