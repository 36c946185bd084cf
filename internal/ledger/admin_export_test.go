package ledger

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strings"
)

// ExecRaw runs one statement, so that tests can break what the ledger never would.
func (l *Ledger) ExecRaw(ctx context.Context, query string, args ...any) (int64, error) {
	var n int64
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		var err error
		n, err = t.exec(ctx, query, args...)
		return err
	})
	return n, err
}

// Explained is one statement of a list and how the database answers it.
type Explained struct {
	Query, Plan string
}

// explainer asks for the plan of each statement before it runs it.
type explainer struct {
	querier
	explain string
	out     *[]Explained
}

func (e explainer) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := e.querier.QueryContext(ctx, e.explain+query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var lines []string
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	dest := make([]any, len(columns))
	for i := range dest {
		dest[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		last := *dest[len(dest)-1].(*any)
		if b, ok := last.([]byte); ok {
			last = string(b)
		}
		lines = append(lines, fmt.Sprint(last))
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	*e.out = append(*e.out, Explained{query, strings.Join(lines, "\n")})
	return e.querier.QueryContext(ctx, query, args...)
}

// ExplainList explains the statements of one page, as the list itself runs
// them. On PostgreSQL they are run for it, and the plans (JSON) hold counts.
func (l *Ledger) ExplainList(ctx context.Context, messages bool, f Filter, p Paging) ([]Explained, error) {
	var out []Explained
	f = f.normal()
	if err := f.check(); err != nil {
		return nil, err
	}
	err := l.listing(ctx, func(ctx context.Context, t *tx) error {
		e := explainer{t.q, "EXPLAIN QUERY PLAN ", &out}
		if t.dialect == postgres {
			e.explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
		}
		t.q = e
		at := place{major: lastID, id: lastID}
		var err error
		switch {
		case messages:
			_, _, err = t.readMessages(ctx, &f, at, p)
		case f.byMessages():
			_, _, err = t.deliveriesByMessages(ctx, &f, at, p)
		default:
			_, _, err = t.deliveriesByPlan(ctx, &f, at, p)
		}
		return err
	})
	return out, err
}

// DecodeCursor reads a cursor of a list of deliveries, for any filter, and
// writes it again.
func DecodeCursor(text string) (string, error) {
	var filter [filterHashSize]byte
	if b, err := base64.RawURLEncoding.DecodeString(text); err == nil && len(b) == cursorSize {
		copy(filter[:], b[3:])
	}
	p, err := decodePlace(listDeliveries, text, filter)
	if err != nil {
		return "", err
	}
	return p.encode(listDeliveries), nil
}
