package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

func (l *Ledger) openPostgres(ctx context.Context, url string, connections int) error {
	cfg, err := postgresConfig(url)
	if err != nil {
		return err
	}
	l.db = stdlib.OpenDB(*cfg)
	l.db.SetMaxOpenConns(connections)
	l.db.SetMaxIdleConns(connections)
	l.db.SetConnMaxLifetime(time.Hour)
	l.dialect = postgres
	if err := l.db.PingContext(ctx); err != nil {
		l.db.Close()
		return fmt.Errorf("connect: %w", redactURL(err))
	}
	return nil
}

// postgresConfig is how each connection is made.
func postgresConfig(url string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("parse database URL: %w", redactURL(err))
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 10 * time.Second
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "postledger"
	}
	// What we promised must be on the disk, whatever the server's default.
	cfg.RuntimeParams["synchronous_commit"] = "on"
	cfg.RuntimeParams["timezone"] = "UTC"
	// Every statement of the ledger has an index to go by. A prepared statement
	// keeps the plan that was made when its tables were nearly empty, and what
	// is right for ten pages reads all of a million rows a minute later; so
	// reading a table from end to end is never a choice. JIT compiles for
	// plans that run for seconds, and by their estimates only.
	cfg.RuntimeParams["enable_seqscan"] = "off"
	cfg.RuntimeParams["jit"] = "off"
	return cfg, nil
}

// redactURL keeps a connection string's password out of errors.
func redactURL(err error) error {
	var pe *pgconn.ParseConfigError
	if errors.As(err, &pe) {
		return errors.New("the URL is not valid (see the PostgreSQL manual, 34.1.1.2 Connection URIs)")
	}
	return err
}

// inPostgresTx runs fn in one transaction. Serialization failures and
// deadlocks repeat it, at most five times: the server has undone all of it.
func (l *Ledger) inPostgresTx(ctx context.Context, fn func(context.Context, *tx) error) error {
	var err error
	for range 5 {
		if err = l.oncePostgresTx(ctx, fn); !retryable(err) {
			return err
		}
	}
	return err
}

func (l *Ledger) oncePostgresTx(ctx context.Context, fn func(context.Context, *tx) error) error {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer conn.Close()
	p := &postgresTx{conn: conn}
	whole := false
	defer func() {
		if !whole {
			_ = p.rollback() // fn panics
		}
	}()
	t := &tx{dialect: postgres, q: p, pg: p, clock: l.now}
	err = fn(ctx, t)
	whole = true
	if err != nil {
		return errors.Join(err, p.rollback())
	}
	return p.commit(ctx, t)
}

// retryable: 40001 serialization_failure, 40P01 deadlock_detected.
func retryable(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && (pe.Code == "40001" || pe.Code == "40P01")
}
