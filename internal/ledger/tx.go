package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/postledger/postledger"
)

type dialect uint8

const (
	sqlite dialect = iota
	postgres
)

// querier is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// tx speaks both dialects: statements that they share are written with ?
// placeholders and take times as arguments.
type tx struct {
	dialect dialect
	q       querier
	clock   func() time.Time
	stmts   *stmtCache  // SQLite's writer only
	us      int64       // the transaction's moment, once asked for
	pg      *postgresTx // in a transaction on PostgreSQL
	// patience, unless 0, bounds a statement whose caller sets no deadline.
	patience time.Duration
	waiting  []queued
	jobs     jobsWritten
}

// nowMicros is the moment of the transaction by the ledger's clock.
func (t *tx) nowMicros(ctx context.Context) (int64, error) {
	if t.us != 0 {
		return t.us, nil
	}
	if t.dialect == sqlite {
		t.us = micros(t.clock())
		return t.us, nil
	}
	if err := t.row(ctx, []any{&t.us}, "SELECT now_us()"); err != nil {
		return 0, fmt.Errorf("read the database's clock: %w", err)
	}
	return t.us, nil
}

func (t *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := t.flush(ctx); err != nil {
		return 0, err
	}
	query = t.bind(query)
	var res sql.Result
	var err error
	if t.stmts != nil {
		var st *sql.Stmt
		if st, err = t.stmts.get(ctx, query); err == nil {
			res, err = st.ExecContext(ctx, args...)
		}
	} else {
		res, err = t.q.ExecContext(ctx, query, args...)
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (t *tx) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	query = t.bind(query)
	if t.stmts != nil {
		st, err := t.stmts.get(ctx, query)
		if err != nil {
			return nil, err
		}
		return st.QueryContext(ctx, args...)
	}
	return t.q.QueryContext(ctx, query, args...)
}

// row scans the first row, or reports sql.ErrNoRows.
func (t *tx) row(ctx context.Context, dest []any, query string, args ...any) error {
	ctx, cancel := inTime(ctx, t.patience)
	defer cancel()
	rows, err := t.query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	return rows.Close()
}

// each calls scan for every row.
func (t *tx) each(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	ctx, cancel := inTime(ctx, t.patience)
	defer cancel()
	rows, err := t.query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// inTime gives ctx a deadline if it has none.
func inTime(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	if _, set := ctx.Deadline(); set || patience == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// bind rewrites ? placeholders to $1, $2, … for PostgreSQL. No statement of
// ours holds a question mark in a literal.
func (t *tx) bind(query string) string {
	if t.dialect == sqlite || !strings.ContainsRune(query, '?') {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + 16)
	n := 0
	for i := range len(query) {
		if query[i] != '?' {
			b.WriteByte(query[i])
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// stmtCache keeps the writer's prepared statements: preparing costs SQLite
// more than running most of them. It holds one entry per distinct text, and
// texts are constants but for the number of placeholders in in(), whose
// callers bound it.
type stmtCache struct {
	conn *sql.Conn
	mu   sync.Mutex
	m    map[string]*sql.Stmt
}

func (c *stmtCache) get(ctx context.Context, query string) (*sql.Stmt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st := c.m[query]; st != nil {
		return st, nil
	}
	st, err := c.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if len(c.m) >= 256 {
		for q, old := range c.m {
			old.Close()
			delete(c.m, q)
			break
		}
	}
	c.m[query] = st
	return st, nil
}

// in writes "(?,?,…)" and appends the values.
func in[T any](args []any, values []T) (string, []any) {
	var b strings.Builder
	b.WriteByte('(')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('?')
		args = append(args, v)
	}
	b.WriteByte(')')
	return b.String(), args
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// nullTime binds the zero time as NULL.
func nullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// nullID binds the zero id as NULL.
func nullID(id postledger.ID) any {
	if id.IsZero() {
		return nil
	}
	return id
}

// forUpdate locks the rows a SELECT reads; SQLite's writer holds the only lock.
func (t *tx) forUpdate() string {
	if t.dialect == postgres {
		return " FOR UPDATE"
	}
	return ""
}
