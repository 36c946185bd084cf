package ledger

import (
	"context"
	"fmt"
)

// writeChangesSQLite is writeChangesPostgres with prepared statements, one row
// each, inside the writer's commit.
func writeChangesSQLite(ctx context.Context, t *tx, changes []change, now int64) error {
	for i := range changes {
		c := &changes[i]
		if _, err := t.exec(ctx, `UPDATE deliveries SET status = ?, reason = ?, envelope_id = ?, due_at = ?, first_charged_at = ?,
				sent_at = ?, settled_at = ?, resolve_by = ?, attempts = ?, uncharged = ?, resent = ?,
				response = ?, provider_id = ?, lease_worker = NULL WHERE id = ?`,
			string(c.to), string(c.reason), c.envelope, c.due, c.firstCharged,
			c.sent, c.settledAt, c.resolveBy, c.attempts, c.uncharged, c.resent,
			c.response, c.providerID, c.row.id); err != nil {
			return fmt.Errorf("update delivery: %w", err)
		}
		if e := c.event; e != nil {
			if _, err := t.exec(ctx, `INSERT INTO delivery_events (id, delivery_id, kind, from_status, to_status, reason, fence, attempt, phase, code, enhanced, response, actor, at)
				VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
				c.eventID, c.row.id, e.Kind, string(c.row.status), string(c.to), string(c.reason), c.row.fence, c.attempts,
				e.phaseText(), e.Code, e.Enhanced.String(), c.response, e.Actor, now); err != nil {
				return fmt.Errorf("insert event: %w", err)
			}
		}
	}
	ids, ns := reopened(changes)
	for i, id := range ids {
		if _, err := t.exec(ctx, `UPDATE messages SET unsettled = unsettled + ?, settled_at = NULL WHERE id = ?`, ns[i], id); err != nil {
			return fmt.Errorf("open message: %w", err)
		}
	}
	keys, sums := statDeltas(changes)
	for _, k := range keys {
		if _, err := t.exec(ctx, `INSERT INTO stats_hours (hour, app_id, profile_id, lane, status, reason, n) VALUES (?,?,?,?,?,?,?)
			ON CONFLICT (hour, app_id, profile_id, lane, status, reason) DO UPDATE SET n = stats_hours.n + excluded.n`,
			now/microsPerHour, k.app, k.profile, string(k.lane), string(k.status), string(k.reason), sums[k]); err != nil {
			return fmt.Errorf("count settled: %w", err)
		}
	}
	return nil
}
