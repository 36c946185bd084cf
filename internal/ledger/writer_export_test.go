package ledger

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// Group makes calls that write meet in one group of SQLite's writer, in their
// order, and waits for them.
func (l *Ledger) Group(ctx context.Context, calls ...func()) error {
	err := l.write(ctx, func(context.Context, *tx) error {
		l.writer.groupTime = time.Minute // in the goroutine that reads it
		return nil
	})
	var wg sync.WaitGroup
	return errors.Join(err, l.write(ctx, func(context.Context, *tx) error {
		for i, call := range calls {
			wg.Go(call)
			for len(l.writer.ops) <= i {
				runtime.Gosched()
			}
		}
		return nil
	}), waited(&wg))
}

func waited(wg *sync.WaitGroup) error { wg.Wait(); return nil }

// LimitPages leaves SQLite's file room for some pages more, and nothing after
// that is written; a negative number lifts the limit.
func (l *Ledger) LimitPages(ctx context.Context, room int) error {
	return l.write(ctx, func(ctx context.Context, t *tx) error {
		pages := 1<<31 - 2
		if room >= 0 {
			if err := t.row(ctx, []any{&pages}, "PRAGMA page_count"); err != nil {
				return err
			}
			pages += room
		}
		_, err := l.writer.conn.ExecContext(ctx, "PRAGMA max_page_count = "+strconv.Itoa(pages))
		return err
	})
}

// ExecAll runs statements as one operation that keeps their errors to itself.
func (l *Ledger) ExecAll(ctx context.Context, queries ...string) (own []error, err error) {
	err = l.write(ctx, func(ctx context.Context, t *tx) error {
		for _, q := range queries {
			_, err := t.exec(ctx, q)
			own = append(own, err)
		}
		return nil
	})
	return own, err
}

// FateOpen reports whether err leaves open what became of a commit.
func FateOpen(err error) bool {
	var open *commitError
	return errors.As(err, &open)
}

// Inside leaves an idle writer's connection as a ROLLBACK that failed would:
// with a transaction of which nothing may be committed.
func (l *Ledger) Inside(ctx context.Context, query string) error {
	t := l.writer.tx
	if err := t.begin(ctx); err != nil {
		return err
	}
	_, err := t.conn.ExecContext(ctx, query)
	return err
}

// Seal is what an idle writer does after a COMMIT that failed.
func (l *Ledger) Seal(ctx context.Context) error { return l.writer.tx.seal(ctx) }
