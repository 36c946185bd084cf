package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// The job queue keeps its rows in this database, in tables that the ledger's
// migrations make, and asks for them with statements of its own. These are its
// ways in.

// Querier is a transaction of the ledger's.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Readers is SQLite's pool of readers: it refuses to write.
func (l *Ledger) Readers() *sql.DB { return l.db }

// WriteBeside runs fn in a transaction: on SQLite inside the writer's group
// commit, so that who keeps rows beside the ledger's never holds the lock against
// it. fn uses the context that it is given, since an interrupted statement may
// undo the whole group.
func (l *Ledger) WriteBeside(ctx context.Context, fn func(ctx context.Context, q Querier) error) error {
	return l.write(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.q) })
}

// PoolBeside is another pool of connections to PostgreSQL for the job queue, made like
// the ledger's own and apart from it: who waits here keeps no delivery waiting. The
// caller closes it.
func (l *Ledger) PoolBeside(connections int) *sql.DB { return l.beside(connections) }

// inOrder makes connections on which rows that are looked up by a list of ids are locked
// in the order of ids, as the job queue's outbox asks for.
type inOrder struct{ driver.Connector }

func (c inOrder) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, "SET enable_bitmapscan = off", nil); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare a connection: %w", err), conn.Close())
	}
	return conn, nil
}
