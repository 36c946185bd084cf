package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// State says whether the ledger may be leased from.
type State struct {
	LedgerID postledger.ID
	// Restoring: deliveries that were open in a restored backup are being
	// marked; nothing is leased until that is done.
	Restoring  bool
	RestoredAt time.Time
}

// ReadState reads the ledger's own row.
func (l *Ledger) ReadState(ctx context.Context) (State, error) {
	var s State
	var state string
	if err := l.read().row(ctx, []any{&s.LedgerID, &state, timeColumn{&s.RestoredAt}},
		`SELECT ledger_id, state, restored_at FROM ledger_state WHERE one = 1`); err != nil {
		return s, fmt.Errorf("read ledger state: %w", err)
	}
	s.Restoring = state == "restoring"
	return s, nil
}

// BeginRestore stops leasing from a ledger that may be older than the world.
// It survives a crash: until EndRestore no process leases from it.
func (l *Ledger) BeginRestore(ctx context.Context) error {
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `UPDATE ledger_state SET state = 'restoring' WHERE one = 1`)
		return err
	})
	if err != nil {
		return fmt.Errorf("begin restore: %w", err)
	}
	return nil
}

// EndRestore opens the ledger again. Whoever calls it has marked what was open
// since BeginRestore.
func (l *Ledger) EndRestore(ctx context.Context) error {
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		now, err := t.nowMicros(ctx)
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, `UPDATE ledger_state SET state = 'open', restored_at = ? WHERE one = 1`, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("end restore: %w", err)
	}
	return nil
}

// OpenBefore lists deliveries that are queued or sending and were accepted at
// or before at, in id order after a cursor.
func (l *Ledger) OpenBefore(ctx context.Context, at time.Time, after postledger.ID, limit int) ([]postledger.ID, error) {
	var out []postledger.ID
	scan := func(rows *sql.Rows) error {
		var id postledger.ID
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	}
	err := l.read().each(ctx, scan, `SELECT id FROM deliveries WHERE id > ? AND (due_at IS NOT NULL OR lease_worker IS NOT NULL)
		AND created_at <= ? ORDER BY id LIMIT ?`, after[:], micros(at), limit)
	if err != nil {
		return nil, fmt.Errorf("list open deliveries: %w", err)
	}
	return out, nil
}
