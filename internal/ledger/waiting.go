package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

// Passed is a key whose deliveries up to a cursor need not be looked at.
type Passed struct {
	Key   ClaimKey
	After Cursor
}

// Waits are the keys that have queued deliveries, due or not.
type Waits struct {
	Keys []ClaimKey
	// Now is the ledger's clock, which cursors are measured by.
	Now int64
}

// Waiting lists every key that has queued deliveries.
func (l *Ledger) Waiting(ctx context.Context) ([]ClaimKey, error) {
	w, err := l.WaitingBeyond(ctx, nil)
	return w.Keys, err
}

// WaitingBeyond lists every key that has queued deliveries, of the passed ones
// those that have some after their cursor. It jumps from key to key through the
// due index, from its far end: the entry it lands on is a key's last, which is the
// one least likely to be dead. Where a key was drained while an old snapshot was
// held, all its entries are, and every look would walk over them: so a caller
// names the keys it drained and how far, and those are jumped over and asked for
// by their cursor. SQLite keeps no dead entries and needs no cursors; there a
// passed key is named also for what it has before them.
func (l *Ledger) WaitingBeyond(ctx context.Context, passed []Passed) (Waits, error) {
	t := l.read()
	ask := t.waitingSQLite
	if t.dialect == postgres {
		ask = func(ctx context.Context) (Waits, error) { return t.waitingPostgres(ctx, passed) }
	}
	w, err := ask(ctx)
	if err != nil {
		return Waits{}, fmt.Errorf("scan waiting keys: %w", err)
	}
	return w, nil
}

func (t *tx) waitingSQLite(ctx context.Context) (Waits, error) {
	var w Waits
	var err error
	if w.Now, err = t.nowMicros(ctx); err != nil {
		return w, err
	}
	scan := func(rows *sql.Rows) error {
		var k ClaimKey
		err := rows.Scan(&k.Profile, &k.Lane, &k.App)
		w.Keys = append(w.Keys, k)
		return err
	}
	const first = `SELECT profile_id, lane, app_id FROM deliveries WHERE due_at IS NOT NULL `
	const last = `ORDER BY profile_id DESC, lane DESC, app_id DESC, due_at DESC, id DESC LIMIT 1`
	err = t.each(ctx, scan, first+last)
	for n := 0; err == nil && len(w.Keys) > n; {
		n = len(w.Keys)
		k := w.Keys[n-1]
		err = t.each(ctx, scan, first+`AND (profile_id, lane, app_id) < (?, ?, ?) `+last, k.Profile, string(k.Lane), k.App)
	}
	return w, err
}
