package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// queued is a statement that waits for the next flush.
type queued struct {
	what  string // "insert messages": what failed when it fails
	query string
	args  []any
	// scan is called for every row; without it the statement returns none, and
	// done hears how many it changed.
	scan func(row) error
	done func(n int64) error
}

// row is what the drivers' rows have in common.
type row interface{ Scan(dest ...any) error }

// queue adds a statement that changes rows.
func (t *tx) queue(what string, done func(n int64) error, query string, args ...any) {
	t.waiting = append(t.waiting, queued{what: what, query: query, args: args, done: done})
}

// queueRead adds a statement that returns rows.
func (t *tx) queueRead(what string, scan func(row) error, query string, args ...any) {
	t.waiting = append(t.waiting, queued{what: what, query: query, args: args, scan: scan})
}

// queueNow reads the transaction's moment from PostgreSQL, if it was not read yet.
func (t *tx) queueNow() {
	if t.us == 0 {
		t.queueRead("read the database's clock", func(r row) error { return r.Scan(&t.us) }, "SELECT now_us()")
	}
}

// flush runs what was queued, in order, up to the first error. In a
// transaction on PostgreSQL that is one round trip: nearly all of a short
// transaction's time is spent in them, while the rows it has locked make
// others wait. What is queued when the transaction's function returns is sent
// together with its COMMIT.
func (t *tx) flush(ctx context.Context) error {
	qs := t.waiting
	t.waiting = nil
	if len(qs) == 0 {
		return nil
	}
	if t.pg != nil {
		return t.pg.send(ctx, t, qs)
	}
	for i := range qs {
		if err := t.runQueued(ctx, &qs[i]); err != nil {
			return fmt.Errorf("%s: %w", qs[i].what, err)
		}
	}
	return nil
}

func (t *tx) runQueued(ctx context.Context, q *queued) error {
	if q.scan != nil {
		return t.each(ctx, func(r *sql.Rows) error { return q.scan(r) }, q.query, q.args...)
	}
	n, err := t.exec(ctx, q.query, q.args...)
	if err == nil && q.done != nil {
		err = q.done(n)
	}
	return err
}

// answer reads what the server said to the statement.
func (q *queued) answer(from pgx.BatchResults) error {
	if q.scan == nil {
		tag, err := from.Exec()
		if err == nil && q.done != nil {
			err = q.done(tag.RowsAffected())
		}
		return err
	}
	rows, err := from.Query()
	if err != nil {
		return err
	}
	return scanAll(rows, q.scan)
}

func scanAll(rows pgx.Rows, scan func(row) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	rows.Close()
	return rows.Err()
}
