package ledger

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/postledger/postledger"
)

//go:embed migrations
var migrations embed.FS

// SchemaVersion is the version this binary was built for. ledger_state's
// oldest_binary is the lowest SchemaVersion that may still work on a database:
// migrations that only expand leave it, so binaries of one minor version run
// side by side during an upgrade.
const SchemaVersion = 8

// oldestBinary is what a new database's ledger_state says: each migration so
// far has only expanded.
const oldestBinary = 1

// Errors of CheckSchema.
var (
	ErrNoSchema  = errors.New("the database holds no ledger yet: run `postledger migrate up`, or `postledger serve --migrate`")
	ErrSchemaOld = errors.New("the database's schema is older than this binary: run `postledger migrate up`")
	ErrSchemaNew = errors.New("the database's schema no longer supports this binary: upgrade postledger")
)

// MigrationStatus is one line of Migrations.
type MigrationStatus struct {
	Version int64
	Name    string
	Applied bool
}

// Migrate brings the schema to this binary's version. Processes that start
// together apply each migration once: PostgreSQL's by an advisory lock,
// SQLite's by its own.
func (l *Ledger) Migrate(ctx context.Context) error {
	p, done, err := l.provider()
	if err != nil {
		return err
	}
	defer done()
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate up: %w", err)
	}
	return l.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `INSERT INTO ledger_state (one, ledger_id, state, oldest_binary) VALUES (1, ?, 'open', ?)
			ON CONFLICT (one) DO NOTHING`, l.NewID(), oldestBinary)
		return err
	})
}

// MigrateDown undoes the newest migration. It refuses while rows would be
// lost that are not settled: what was accepted is never dropped.
func (l *Ledger) MigrateDown(ctx context.Context) error {
	var open int64
	err := l.read().row(ctx, []any{&open}, `SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE status IN ('queued', 'sending', 'unconfirmed') LIMIT 1) d`)
	if err == nil && open > 0 {
		return errors.New("migrate down: deliveries are queued, sending or unconfirmed; the tables cannot be dropped")
	}
	if err := l.refuseJobs(ctx); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	p, done, err := l.provider()
	if err != nil {
		return err
	}
	defer done()
	if _, err := p.Down(ctx); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}

// Migrations lists every migration this binary knows and whether it was applied.
func (l *Ledger) Migrations(ctx context.Context) ([]MigrationStatus, error) {
	p, done, err := l.provider()
	if err != nil {
		return nil, err
	}
	defer done()
	st, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read migration status: %w", err)
	}
	out := make([]MigrationStatus, 0, len(st))
	for _, s := range st {
		out = append(out, MigrationStatus{Version: s.Source.Version, Name: s.Source.Path, Applied: s.State == goose.StateApplied})
	}
	return out, nil
}

// CheckSchema refuses a database that this binary must not work on.
func (l *Ledger) CheckSchema(ctx context.Context) error {
	exists := `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'ledger_state')`
	if l.dialect == postgres {
		exists = `SELECT to_regclass('ledger_state') IS NOT NULL`
	}
	var some bool
	if err := l.read().row(ctx, []any{&some}, exists); err != nil {
		return fmt.Errorf("look for the schema: %w", err)
	}
	if !some {
		return ErrNoSchema
	}
	var oldest int64
	err := l.read().row(ctx, []any{&oldest}, "SELECT oldest_binary FROM ledger_state WHERE one = 1")
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNoSchema // its tables were made, and the run was cut short
	case err != nil:
		return fmt.Errorf("read the schema's version: %w", err)
	case oldest > SchemaVersion:
		return fmt.Errorf("%w (it needs schema %d, this one knows %d)", ErrSchemaNew, oldest, SchemaVersion)
	}
	st, err := l.Migrations(ctx)
	if err != nil {
		return err
	}
	for _, s := range st {
		if !s.Applied {
			return ErrSchemaOld
		}
	}
	return nil
}

// LedgerID names this database; journals of other ledgers are not ours.
func (l *Ledger) LedgerID(ctx context.Context) (postledger.ID, error) {
	var id postledger.ID
	if err := l.read().row(ctx, []any{&id}, "SELECT ledger_id FROM ledger_state WHERE one = 1"); err != nil {
		return id, fmt.Errorf("read ledger id: %w", err)
	}
	return id, nil
}

// provider opens a connection of its own: migrations must not wait behind, or
// run inside, the writer's groups.
func (l *Ledger) provider() (*goose.Provider, func(), error) {
	dir, d := "migrations/postgres", goose.DialectPostgres
	var opts []goose.ProviderOption
	db := l.db
	done := func() {}
	if l.dialect == sqlite {
		dir, d = "migrations/sqlite", goose.DialectSQLite3
		wdb, err := sql.Open("sqlite", l.writeDSN)
		if err != nil {
			return nil, nil, fmt.Errorf("open for migration: %w", err)
		}
		wdb.SetMaxOpenConns(1)
		db, done = wdb, func() { wdb.Close() }
	} else {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, nil, fmt.Errorf("make migration lock: %w", err)
		}
		opts = append(opts, goose.WithSessionLocker(locker))
	}
	sub, err := fs.Sub(migrations, dir)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("read migrations: %w", err)
	}
	p, err := goose.NewProvider(d, db, sub, opts...)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("load migrations: %w", err)
	}
	return p, done, nil
}
