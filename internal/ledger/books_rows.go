package ledger

import (
	"context"

	"github.com/postledger/postledger"
)

// messageBooks compares messages with their deliveries and their contents.
func messageBooks(ctx context.Context, t *tx, r *Report) error {
	return t.idSlices(ctx, "messages", func(lo, hi []byte) error {
		if err := t.differIDs(ctx, r, DiffRecipients, `SELECT m.id FROM messages m LEFT JOIN (
				SELECT message_id, count(*) AS n, sum(CASE WHEN status IN ('queued', 'sending') THEN 1 ELSE 0 END) AS open
				FROM deliveries WHERE message_id > ? AND message_id <= ? GROUP BY message_id) d ON d.message_id = m.id
			WHERE m.id > ? AND m.id <= ? AND (m.recipients <> coalesce(d.n, 0) OR m.unsettled < coalesce(d.open, 0)
				OR (m.settled_at IS NOT NULL AND coalesce(d.open, 0) > 0))`, lo, hi, lo, hi); err != nil {
			return err
		}
		if err := t.differIDs(ctx, r, DiffRecipients, `SELECT d.id FROM deliveries d WHERE d.message_id > ? AND d.message_id <= ?
			AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = d.message_id)`, lo, hi); err != nil {
			return err
		}
		if err := t.differIDs(ctx, r, DiffContent, `SELECT m.id FROM messages m LEFT JOIN contents c ON c.message_id = m.id
			WHERE m.id > ? AND m.id <= ? AND (m.content_purged_at IS NULL) <> (c.message_id IS NOT NULL)`, lo, hi); err != nil {
			return err
		}
		return t.differIDs(ctx, r, DiffContent, `SELECT c.message_id FROM contents c WHERE c.message_id > ? AND c.message_id <= ?
			AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = c.message_id)`, lo, hi)
	})
}

// leaseBooks compares leases with living workers, and the columns that stand
// for a state with the state.
func leaseBooks(ctx context.Context, t *tx, r *Report) error {
	if err := t.idSlices(ctx, "deliveries", func(lo, hi []byte) error {
		return t.differIDs(ctx, r, DiffColumns, `SELECT id FROM deliveries WHERE id > ? AND id <= ? AND (
			(status = 'queued') <> (due_at IS NOT NULL) OR (status = 'sending') <> (lease_worker IS NOT NULL)
			OR (status = 'unconfirmed') <> (resolve_by IS NOT NULL)
			OR (status IN ('queued', 'sending')) <> (settled_at IS NULL))`, lo, hi)
	}); err != nil {
		return err
	}
	// Leases are as many as workers may hold: a few thousand.
	return t.differIDs(ctx, r, DiffLease, `SELECT d.id FROM deliveries d WHERE d.lease_worker IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = d.lease_worker AND w.ended_at IS NULL)`)
}

// eventBooks compares states with histories. A plain success writes no line,
// but these states always do, under the fence they came about by; a wish to
// cancel that was granted without a try is told by its own column. And what a
// line says is final stays so.
func eventBooks(ctx context.Context, t *tx, r *Report) error {
	if err := t.idSlices(ctx, "deliveries", func(lo, hi []byte) error {
		return t.differIDs(ctx, r, DiffEvents, `SELECT d.id FROM deliveries d WHERE d.id > ? AND d.id <= ?
			AND d.status IN ('failed', 'unconfirmed', 'suppressed', 'canceled')
			AND NOT (d.status = 'canceled' AND d.cancel_requested_at IS NOT NULL)
			AND NOT EXISTS (SELECT 1 FROM delivery_events e
				WHERE e.delivery_id = d.id AND e.to_status = d.status AND e.fence = d.fence)`, lo, hi)
	}); err != nil {
		return err
	}
	return t.idSlices(ctx, "delivery_events", func(lo, hi []byte) error {
		return t.differIDs(ctx, r, DiffEvents, `SELECT e.delivery_id FROM delivery_events e LEFT JOIN deliveries d ON d.id = e.delivery_id
			WHERE e.id > ? AND e.id <= ? AND (d.id IS NULL
				OR (e.to_status IN ('failed', 'suppressed', 'canceled') AND d.status <> e.to_status) OR e.fence > d.fence)`, lo, hi)
	})
}

// keyBooks finds keys whose message is gone though no purge can have taken it:
// messages are purged by a settled time, which is after their key's.
func keyBooks(ctx context.Context, t *tx, r *Report) error {
	purged, err := readRecordsBefore(ctx, t)
	if err != nil {
		return err
	}
	var app postledger.ID
	var key string
	for {
		var n int
		next := KeyMark{app, key}
		rows, err := t.query(ctx, `SELECT k.app_id, k.key, k.created_at >= ? AND m.id IS NULL
			FROM idempotency_keys k LEFT JOIN messages m ON m.id = k.message_id
			WHERE (k.app_id, k.key) > (?, ?) ORDER BY k.app_id, k.key LIMIT ?`, purged, app[:], key, bookSlice)
		if err != nil {
			return err
		}
		for rows.Next() {
			var lost bool
			if err := rows.Scan(&next.app, &next.key, &lost); err != nil {
				rows.Close()
				return err
			}
			n++
			if lost {
				r.differ(DiffKeys, next.app.String()+"/"+next.key)
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if n < bookSlice {
			return nil
		}
		app, key = next.app, next.key
	}
}
