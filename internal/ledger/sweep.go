package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/postledger/postledger"
)

// PastDeadline lists queued deliveries whose deadline has passed, oldest
// deadline first.
func (l *Ledger) PastDeadline(ctx context.Context, limit int) ([]postledger.ID, error) {
	t := l.read()
	now, err := t.nowMicros(ctx)
	if err != nil {
		return nil, err
	}
	return l.idList(ctx, t, "list expired deliveries", `SELECT id FROM deliveries
		WHERE expires_at IS NOT NULL AND due_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at, id LIMIT ?`, now, limit)
}

// WaitingUnder lists queued deliveries of a profile, and of one app on it when
// app is set: what a removed profile or a revoked grant leaves behind.
func (l *Ledger) WaitingUnder(ctx context.Context, profile, app postledger.ID, limit int) ([]postledger.ID, error) {
	if app.IsZero() {
		return l.idList(ctx, l.read(), "list waiting deliveries", `SELECT id FROM deliveries
			WHERE profile_id = ? AND due_at IS NOT NULL LIMIT ?`, profile, limit)
	}
	return l.idList(ctx, l.read(), "list waiting deliveries", `SELECT id FROM deliveries
		WHERE profile_id = ? AND lane IN ('immediate', 'bulk') AND app_id = ? AND due_at IS NOT NULL LIMIT ?`, profile, app, limit)
}

// Unconfirmed lists unconfirmed deliveries in id order after a cursor.
func (l *Ledger) Unconfirmed(ctx context.Context, after postledger.ID, limit int) ([]postledger.ID, error) {
	return l.idList(ctx, l.read(), "list unconfirmed deliveries", `SELECT id FROM deliveries
		WHERE resolve_by IS NOT NULL AND id > ? ORDER BY id LIMIT ?`, after[:], limit)
}

func (l *Ledger) idList(ctx context.Context, t *tx, what, query string, args ...any) ([]postledger.ID, error) {
	var out []postledger.ID
	err := t.each(ctx, func(rows *sql.Rows) error {
		var id postledger.ID
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}

// ResendDue walks the unconfirmed deliveries, in id order, and gives those of a profile
// that its policy may send again: not those that nobody asked for any more or whose
// deadline has passed, not those of a restored ledger, which wait for an operator, and none
// that it has sent again before: a hop that fails at one message after its final dot would
// get it, and its recipient perhaps a copy, for ever. A step looks at no more deliveries
// than most, whosever they are: those that are held stay, and may be many.
func (l *Ledger) ResendDue(ctx context.Context, profile postledger.ID, after Mark, most int) (Selection, error) {
	t := l.read()
	now, err := t.nowMicros(ctx)
	if err != nil {
		return Selection{}, err
	}
	var out Selection
	looked := 0
	err = t.each(ctx, func(rows *sql.Rows) error {
		var due bool
		if err := rows.Scan(&out.Next.id, &due); err != nil {
			return err
		}
		if due {
			out.IDs = append(out.IDs, out.Next.id)
		}
		looked++
		return nil
	}, `SELECT d.id, d.profile_id = ? AND d.reason <> ? AND d.cancel_requested_at IS NULL
			AND (d.expires_at IS NULL OR d.expires_at > ?)
			AND NOT EXISTS (SELECT 1 FROM delivery_events e WHERE e.delivery_id = d.id AND e.kind = ? AND e.actor = ?)
		FROM deliveries d WHERE d.resolve_by IS NOT NULL AND d.id > ? ORDER BY d.id LIMIT ?`,
		profile, string(postledger.ReasonRestored), now, EventResend, ActorPolicy, after.id[:], most)
	if err != nil {
		return Selection{}, fmt.Errorf("list deliveries to resend: %w", err)
	}
	out.Done = looked < most
	return out, nil
}

// What the policy's resend leaves in delivery_events, by which ResendDue knows it.
const (
	EventResend = "resend"
	ActorPolicy = "policy"
)
