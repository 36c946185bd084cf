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
	Restoring bool
	// RestoredAt is the moment of that marking, or of the last one: what was
	// accepted later is none of it. Zero when there was none.
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

// BeginRestore stops leasing from a ledger that may be older than the world and
// returns the moment of the marking: what is open and was accepted up to it has
// to be marked. It survives a crash: until EndRestore no process leases.
//
// The moment is at, or with a zero at now: then nothing that is open is left
// out, whatever clocks say. One that is under way with a later moment keeps it,
// and to go on with one that was interrupted takes State.RestoredAt and not
// this.
//
// Proof are the workers by whose journals the ledger is older, with the
// heartbeats that those hold. It knows them from now on: the same journals are
// no proof that it has been put back once more.
func (l *Ledger) BeginRestore(ctx context.Context, at time.Time, proof []Worker) (time.Time, error) {
	var moment int64
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		moment = max(micros(at), 1) // zero is no moment
		now, err := t.nowMicros(ctx)
		if err != nil {
			return err
		}
		var state string
		var under, newest sql.NullInt64
		if err := t.row(ctx, []any{&state, &under}, `SELECT state, restored_at FROM ledger_state WHERE one = 1`+t.forUpdate()); err != nil {
			return err
		}
		if at.IsZero() {
			// A backup may come from a machine whose clock is ahead.
			if err := t.row(ctx, []any{&newest}, `SELECT max(created_at) FROM deliveries
				WHERE due_at IS NOT NULL OR lease_worker IS NOT NULL`); err != nil {
				return err
			}
			moment = max(now, newest.Int64)
		}
		if state == "restoring" {
			moment = max(moment, under.Int64)
		}
		if _, err := t.exec(ctx, `UPDATE ledger_state SET state = 'restoring', restored_at = ? WHERE one = 1`, moment); err != nil {
			return err
		}
		for i := range proof {
			if err := t.knowWorker(ctx, &proof[i], now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("begin restore: %w", err)
	}
	return fromMicros(moment), nil
}

// EndRestore opens the ledger again. Whoever calls it has marked what was open
// and accepted up to moment. When somebody has begun another marking meanwhile
// the ledger stays closed, and the moment of that one is returned; else zero.
func (l *Ledger) EndRestore(ctx context.Context, moment time.Time) (time.Time, error) {
	var later int64
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		var state string
		var under sql.NullInt64
		if err := t.row(ctx, []any{&state, &under}, `SELECT state, restored_at FROM ledger_state WHERE one = 1`+t.forUpdate()); err != nil {
			return err
		}
		later = 0
		if state != "restoring" {
			return nil // another one who marked the same has ended it
		}
		if under.Int64 > micros(moment) {
			later = under.Int64
			return nil
		}
		_, err := t.exec(ctx, `UPDATE ledger_state SET state = 'open' WHERE one = 1`)
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("end restore: %w", err)
	}
	return fromMicros(later), nil
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
