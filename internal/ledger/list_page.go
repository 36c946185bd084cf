package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/postledger/postledger"
)

// Paging asks for one page of a list, newest first.
type Paging struct {
	// Limit is how many items a page has at most, 1 to MaxPage.
	Limit int
	// Cursor is the Next or Prev of an earlier page of the same filter.
	Cursor string
	// Total asks for the count of the whole list, too.
	Total bool
}

// Page is one page of a list. It may hold fewer items than asked for and
// still have a Next: a filter that no index serves alone reads ListBudget rows
// a page, and Next goes on from there. The list ends where Next is "".
type Page[T any] struct {
	Items []T
	// Next leads to older items, Prev to newer ones.
	Next, Prev string
	// Total is set when it was asked for.
	Total *Total
}

// Total is a count up to TotalLimit.
type Total struct {
	N int
	// More says that there are, or may be, more than N.
	More bool
}

const (
	// MaxPage bounds a page.
	MaxPage = 1000
	// TotalLimit is how far the rows of a list are counted.
	TotalLimit = 10_000
	// ListBudget is how many rows one page reads at most to find those that
	// the filter keeps, when an index serves only part of it: some 50 ms where
	// each row costs a look at its deliveries. On PostgreSQL it is read of each
	// state before they are merged.
	ListBudget = 5000
	// TotalBudget is the same for a total, which nobody gets without asking and
	// which does not lead on.
	TotalBudget = 20_000
	// listTimeout ends a list's statement on PostgreSQL, whatever its plan.
	listTimeout = 15 * time.Second
)

func (p Paging) check() error {
	if p.Limit < 1 || p.Limit > MaxPage {
		return &FilterError{"limit", fmt.Sprintf("must be between 1 and %d", MaxPage)}
	}
	return nil
}

// keyed is an item with its place in the list.
type keyed[T any] struct {
	item      T
	major, id postledger.ID
}

// found is what one query for a page brought: rows in the direction of the
// query, at most one more than asked for.
type found[T any] struct {
	rows []keyed[T]
	// end, when the budget ran out, is the key of the last row that was read.
	end *keyed[T]
}

// page turns rows into a page with its cursors.
func page[T any](kind listKind, at place, first bool, limit int, f found[T]) Page[T] {
	cursor := func(k keyed[T], newer bool) string {
		return place{newer: newer, major: k.major, id: k.id, filter: at.filter}.encode(kind)
	}
	more := len(f.rows) > limit
	rows := f.rows[:min(len(f.rows), limit)]
	var out Page[T]
	// ahead is where the direction of the query goes on.
	ahead := f.end
	if more {
		last := rows[limit-1]
		ahead = &last
	}
	if at.newer {
		slices.Reverse(rows)
	}
	for _, r := range rows {
		out.Items = append(out.Items, r.item)
	}
	// behind: the page we came from lies there, and with it its first row.
	behind := keyed[T]{major: at.major, id: at.id}
	switch {
	case at.newer && len(rows) > 0:
		out.Next = cursor(rows[len(rows)-1], false)
	case at.newer:
		out.Next = cursor(keyed[T]{major: at.major, id: idAfter(at.id)}, false)
	case !first && len(rows) > 0:
		out.Prev = cursor(rows[0], true)
	case !first:
		behind.id = idBefore(behind.id)
		out.Prev = cursor(behind, true)
	}
	if ahead != nil {
		if at.newer {
			out.Prev = cursor(*ahead, true)
		} else {
			out.Next = cursor(*ahead, false)
		}
	}
	return out
}

// idBefore is the id before in order.
func idBefore(id postledger.ID) postledger.ID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]--; id[i] != 0xff {
			break
		}
	}
	return id
}

// listing runs fn on one read-only snapshot, so that a page and its total
// agree. On PostgreSQL its plans may not scan tables: one that is best for a
// small table would be kept by a cached plan, or by old statistics, when it is
// large.
func (l *Ledger) listing(ctx context.Context, fn func(ctx context.Context, t *tx) error) error {
	return l.snapshot(ctx, func(ctx context.Context, t *tx) error {
		if t.dialect == postgres {
			if _, err := t.q.ExecContext(ctx, fmt.Sprintf(
				`SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
				SET LOCAL plan_cache_mode = auto;
				SET LOCAL statement_timeout = %d`, listTimeout.Milliseconds())); err != nil {
				return fmt.Errorf("set up listing: %w", err)
			}
		}
		return fn(ctx, t)
	})
}

// snapshot runs fn in a read-only transaction that sees one moment of the
// ledger.
func (l *Ledger) snapshot(ctx context.Context, fn func(ctx context.Context, t *tx) error) error {
	o := &sql.TxOptions{ReadOnly: true}
	if l.dialect == postgres {
		o.Isolation = sql.LevelRepeatableRead
		select {
		case l.snapshots <- struct{}{}:
			defer func() { <-l.snapshots }()
		case <-ctx.Done():
			return fmt.Errorf("begin snapshot: %w", ctx.Err())
		}
	}
	stx, err := l.db.BeginTx(ctx, o)
	if err != nil {
		return fmt.Errorf("begin snapshot: %w", err)
	}
	defer stx.Rollback() //nolint:errcheck // it read only: there is nothing to undo
	return fn(ctx, &tx{dialect: l.dialect, q: stx, clock: l.now})
}
