package ledger

import (
	"context"
	"database/sql"

	"github.com/postledger/postledger"
)

// leaseSQLite is leasePostgres on the one writer: nothing can hold a row
// meanwhile, so an envelope met is an envelope leased.
func leaseSQLite(ctx context.Context, t *tx, worker postledger.ID, last Counts, wants []Want, out []Claimed) (beats int64, err error) {
	var may bool
	if err := t.row(ctx, []any{&may}, `SELECT EXISTS (SELECT 1 FROM ledger_state WHERE one = 1 AND state = 'open')
		AND EXISTS (SELECT 1 FROM workers w WHERE w.id = ? AND w.ended_at IS NULL AND w.beat >= ? AND `+settlesOf+` >= ?)`,
		worker, last.Beats, last.Settles); err != nil {
		return 0, err
	}
	if !may {
		return 0, nil
	}
	now, err := t.nowMicros(ctx)
	if err != nil {
		return 0, err
	}
	met := 0
	for i, w := range wants {
		var found []envelopeRow
		err := t.each(ctx, func(rows *sql.Rows) error {
			var r envelopeRow
			err := rows.Scan(&r.id, &r.envelope, &r.message, &r.due)
			found = append(found, r)
			return err
		}, `SELECT id, envelope_id, message_id, due_at FROM deliveries
			WHERE profile_id = ? AND lane = ? AND app_id = ? AND due_at IS NOT NULL AND due_at <= ? AND (due_at, id) > (?, ?)
			ORDER BY due_at, id LIMIT ?`,
			w.Key.Profile, string(w.Key.Lane), w.Key.App, now, w.After.Due, w.After.ID[:], w.N)
		if err != nil {
			return 0, err
		}
		met += len(found)
		out[i].Short = len(found) < w.N
		done := map[postledger.ID]bool{}
		for _, r := range found {
			if cur := (Cursor{r.due, r.id}); cur.after(out[i].After) {
				out[i].After = cur
			}
			if done[r.envelope] {
				continue
			}
			if r.envelope == r.id {
				err = leaseWhereSQLite(ctx, t, &out[i], `id = ?`, worker, now, r.id)
			} else {
				done[r.envelope] = true
				err = leaseWhereSQLite(ctx, t, &out[i], `message_id = ? AND envelope_id = ? AND status = 'queued'`, worker, now, r.message, r.envelope)
			}
			if err != nil {
				return 0, err
			}
		}
	}
	if met == 0 {
		return 0, nil
	}
	return t.beat(ctx, worker, last)
}

type envelopeRow struct {
	id, envelope, message postledger.ID
	due                   int64
}

func leaseWhereSQLite(ctx context.Context, t *tx, c *Claimed, where string, worker postledger.ID, now int64, args ...any) error {
	return t.each(ctx, func(rows *sql.Rows) error {
		d, err := scanLeased(rows)
		c.Leased = append(c.Leased, d)
		return err
	}, `UPDATE deliveries SET status = 'sending', due_at = NULL, fence = fence + 1, lease_worker = ?, leased_at = ?
		WHERE `+where+` RETURNING `+leasedColumnsSQLite, append([]any{worker, now}, args...)...)
}
