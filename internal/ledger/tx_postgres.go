package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresTx is a transaction whose BEGIN goes with its first statement, and
// whose COMMIT may go with its last ones: each that goes alone costs a round
// trip.
type postgresTx struct {
	conn  *sql.Conn
	begun bool
	// failed is the error of a BEGIN or of a batch. Nothing is sent after it:
	// BEGIN may not have run, and what followed would commit by itself.
	failed error
}

// errUndone: the server answered COMMIT with ROLLBACK.
var errUndone = errors.New("the transaction was undone by its commit")

// rollbackBound bounds a ROLLBACK; a connection that does not answer by then is
// given up, which has the server undo what it holds.
const rollbackBound = 5 * time.Second

func (p *postgresTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	return p.conn.ExecContext(ctx, query, args...)
}

func (p *postgresTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	return p.conn.QueryContext(ctx, query, args...)
}

func (p *postgresTx) begin(ctx context.Context) error {
	if p.begun || p.failed != nil {
		return p.failed
	}
	p.begun = true
	if _, err := p.conn.ExecContext(ctx, "begin"); err != nil {
		p.failed = fmt.Errorf("begin: %w", err)
	}
	return p.failed
}

// raw calls fn with the connection itself.
func (p *postgresTx) raw(fn func(*pgx.Conn) error) error {
	return p.conn.Raw(func(c any) error { return fn(c.(*stdlib.Conn).Conn()) })
}

// send sends the statements, and BEGIN before the first of a transaction.
func (p *postgresTx) send(ctx context.Context, t *tx, qs []queued) error {
	return p.raw(func(c *pgx.Conn) error {
		return p.batch(ctx, c, t, qs, func(pgx.BatchResults) error { return nil })
	})
}

func (p *postgresTx) batch(ctx context.Context, c *pgx.Conn, t *tx, qs []queued, last func(pgx.BatchResults) error, more ...string) (err error) {
	if p.failed != nil {
		return p.failed
	}
	defer func() { p.failed = err }()
	var b pgx.Batch
	begin := !p.begun
	if begin {
		b.Queue("begin")
	}
	for i := range qs {
		b.Queue(t.bind(qs[i].query), qs[i].args...)
	}
	for _, q := range more {
		b.Queue(q)
	}
	p.begun = true
	answers := c.SendBatch(ctx, &b)
	defer func() {
		if end := answers.Close(); err == nil {
			err = end
		}
	}()
	if begin {
		if _, err := answers.Exec(); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
	}
	for i := range qs {
		if err := qs[i].answer(answers); err != nil {
			return fmt.Errorf("%s: %w", qs[i].what, err)
		}
	}
	return last(answers)
}

// commit ends the transaction, with what is still queued; a statement whose
// result can refuse the transaction is sent before. Once a statement has failed
// the server does not run the COMMIT behind it; every other error leaves the
// transaction's fate open and is a commitError.
func (p *postgresTx) commit(ctx context.Context, t *tx) error {
	if p.failed != nil {
		return errors.Join(p.failed, p.rollback())
	}
	if slices.ContainsFunc(t.waiting, func(q queued) bool { return q.done != nil }) {
		if err := t.flush(ctx); err != nil {
			return errors.Join(err, p.rollback())
		}
	}
	qs := t.waiting
	t.waiting = nil
	if !p.begun && len(qs) == 0 {
		return nil // nothing was asked
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(err, p.rollback())
	}
	asked := false
	err := p.raw(func(c *pgx.Conn) error {
		return p.batch(ctx, c, t, qs, func(answers pgx.BatchResults) error {
			asked = true
			tag, err := answers.Exec()
			if err == nil && tag.String() == "ROLLBACK" {
				err = errUndone
			}
			return err
		}, "commit")
	})
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errUndone), !asked && errors.As(err, &refused) && refused.SeverityUnlocalized == "ERROR":
		return errors.Join(err, p.rollback())
	default:
		return errors.Join(&commitError{err: err}, p.rollback())
	}
}

// giveUp ends the connection: another may be better.
func (p *postgresTx) giveUp() {
	_ = p.conn.Raw(func(any) error { return driver.ErrBadConn }) // which closes it
}

// rollback undoes the transaction if it is still open. A connection on which
// that fails is not used again.
func (p *postgresTx) rollback() error {
	if !p.begun {
		return nil
	}
	err := p.raw(func(c *pgx.Conn) error {
		if c.IsClosed() || c.PgConn().TxStatus() == 'I' {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), rollbackBound)
		defer cancel()
		if _, err := c.Exec(ctx, "rollback"); err != nil {
			return driver.ErrBadConn
		}
		return nil
	})
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil // given up: the server undoes it
	}
	return err
}
