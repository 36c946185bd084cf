package ledger

import (
	"context"
	"database/sql"

	"github.com/postledger/postledger"
)

// sharedBooks compares shared bodies' counts with the contents that have them.
// What is counted and not met yet is in memory: a body and its contents have ids
// of one request, so that is little, unless there is as much to tell.
func sharedBooks(ctx context.Context, t *tx, r *Report) error {
	open := map[postledger.ID]int64{}
	var none []postledger.ID // count nothing
	add := func(sign int64) func(*sql.Rows) error {
		return func(rows *sql.Rows) error {
			var id postledger.ID
			var n int64
			if err := rows.Scan(&id, &n); err != nil {
				return err
			}
			if n == 0 {
				none = append(none, id)
			}
			if open[id] += sign * n; open[id] == 0 {
				delete(open, id)
			}
			return nil
		}
	}
	if err := t.idSlices(ctx, "messages", func(lo, hi []byte) error {
		if err := t.each(ctx, add(1), `SELECT id, refs FROM shared_bodies WHERE id > ? AND id <= ?`, lo, hi); err != nil {
			return err
		}
		return t.each(ctx, add(-1), `SELECT shared_id, count(*) FROM contents
			WHERE message_id > ? AND message_id <= ? AND shared_id IS NOT NULL GROUP BY shared_id`, lo, hi)
	}); err != nil {
		return err
	}
	for _, id := range none {
		if open[id] == 0 {
			r.differ(DiffShared, id.String())
		}
	}
	for id := range open {
		r.differ(DiffShared, id.String())
	}
	return nil
}
