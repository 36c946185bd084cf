package sqlbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/postledger/postledger/jobs"
)

// chunk is the most rows of one statement: large enough that round trips do not
// count, small enough for every database's limit on placeholders (SQLite 32,766,
// with 19 a row).
const chunk = 1000

// tries bounds how often a transaction is run again that was rolled back for no
// fault of its own.
const tries = 10

// errRaced is a transaction's own reason to run again.
var errRaced = errors.New("another transaction wrote the same rows")

// Box is an outbox on a database.
type Box struct {
	db      *sql.DB
	d       Dialect
	writing Writing
	own     bool // writing is this box's
}

// Writing runs a body in one transaction, which is committed when it returns nil
// and undone when it does not. The body uses the context that it is given.
type Writing func(ctx context.Context, body func(ctx context.Context, q Querier) error) error

// New makes an outbox of a database whose schema was migrated.
func New(db *sql.DB, d Dialect) *Box {
	b := &Box{db: db, d: d, own: true}
	b.writing = b.begin
	return b
}

// NewWith makes one that reads from a database and writes by other means.
func NewWith(db *sql.DB, d Dialect, writing Writing) *Box {
	return &Box{db: db, d: d, writing: writing}
}

// write runs a transaction, again when it was rolled back for no fault of its
// own. An error means that its fate is unknown.
func (b *Box) write(ctx context.Context, doing string, body func(*session) error) error {
	return b.again(ctx, doing, func() error { return b.once(ctx, body) })
}

func (b *Box) again(ctx context.Context, doing string, once func() error) error {
	for try := 1; ; try++ {
		err := once()
		switch {
		case err == nil:
			return nil
		case try == tries || !errors.Is(err, errRaced) && !b.d.Transient(err):
			return fmt.Errorf("%s: %w", doing, err)
		}
		// Who collided runs apart again: 1 to 2 ms, doubling up to a quarter of a
		// second.
		wait := time.Millisecond << min(try-1, 7)
		timer := time.NewTimer(wait + rand.N(wait))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%s: %w", doing, errors.Join(ctx.Err(), err))
		}
	}
}

func (b *Box) once(ctx context.Context, body func(*session) error) error {
	return b.writing(ctx, func(ctx context.Context, q Querier) error {
		return body(&session{ctx: ctx, q: q, d: b.d})
	})
}

// single is write for a body of one statement: it is a transaction by itself where
// the dialect has it so, without the ways there and back of BEGIN and COMMIT.
func (b *Box) single(ctx context.Context, doing string, body func(*session) error) error {
	if !b.own || !b.d.Alone() {
		return b.write(ctx, doing, body)
	}
	return b.again(ctx, doing, func() error { return body(b.reader(ctx)) })
}

// begin is Writing by a transaction of the dialect's own.
func (b *Box) begin(ctx context.Context, body func(context.Context, Querier) error) error {
	tx, err := b.d.Begin(ctx, b.db)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := body(ctx, tx); err != nil {
		// The connection may be gone; the server rolls back then.
		_ = tx.Rollback()
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// reader runs statements each by itself, most of which only read.
func (b *Box) reader(ctx context.Context) *session { return &session{ctx: ctx, q: b.db, d: b.d} }

// Querier is what transactions and databases have in common.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// session is a transaction with its dialect and context.
type session struct {
	ctx context.Context //nolint:containedctx // it lives for one call
	q   Querier
	d   Dialect
}

// exec runs a statement and tells how many rows it changed.
func (s *session) exec(query string, args ...any) (int, error) {
	result, err := s.q.ExecContext(s.ctx, s.d.Bind(query), args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// each calls scan for each row until it says to stop.
func (s *session) each(query string, args []any, scan func(*sql.Rows) (more bool, err error)) error {
	rows, err := s.q.QueryContext(s.ctx, s.d.Bind(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		more, err := scan(rows)
		if err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// byRefs runs a statement whose condition is on chunks of refs. The %s of the
// statement is that condition, and before are the arguments that stand before it.
func (s *session) byRefs(statement string, before []any, refs []jobs.Ref) (int, error) {
	total := 0
	for part := range chunks(refs) {
		condition, args := s.d.Refs(part)
		n, err := s.exec(fmt.Sprintf(statement, condition), append(before[:len(before):len(before)], args...)...)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func (s *session) byIDs(statement string, before []any, ids []jobs.ID) (int, error) {
	total := 0
	for part := range chunks(ids) {
		condition, args := s.d.IDs(part)
		n, err := s.exec(fmt.Sprintf(statement, condition), append(before[:len(before):len(before)], args...)...)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}
