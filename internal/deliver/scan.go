package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/postledger/postledger/internal/ledger"
)

// scanKeys finds keys with work that nobody woke us for: another process's
// accepts, retries, send_at.
func (w *Worker) scanKeys() error {
	ctx, cancel := context.WithTimeout(w.lifetime, w.c.Timeout)
	defer cancel()
	began := time.Now()
	passed := w.passed(began)
	waits, err := w.c.Ledger.WaitingBeyond(ctx, passed)
	if err != nil {
		if w.lifetime.Err() == nil {
			w.c.Log.Error("look for waiting deliveries", slog.Any("error", err))
		}
		return err
	}
	w.note(began, passed, waits)
	return nil
}

// passed are the keys that this worker took much from, and how far.
func (w *Worker) passed(now time.Time) []ledger.Passed {
	w.mu.Lock()
	defer w.mu.Unlock()
	return ledger.PassedBy(func(yield func(ledger.ClaimKey, *ledger.Trail) bool) {
		for k, st := range w.keys {
			if !yield(k, &st.trail) {
				return
			}
		}
	}, now)
}

// note puts the keys to work that wait, and lets the others rest.
func (w *Worker) note(began time.Time, passed []ledger.Passed, waits ledger.Waits) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	waiting := make(map[ledger.ClaimKey]bool, len(waits.Keys))
	for _, k := range waits.Keys {
		waiting[k] = true
		if st := w.keys[k]; st == nil || now.After(st.asleep) {
			w.addKey(k)
		}
	}
	for _, p := range passed {
		if !waiting[p.Key] {
			w.keys[p.Key].trail.Nothing()
		}
	}
	for k, st := range w.keys {
		st.trail.Clock(waits.Now)
		if waiting[k] || st.added.After(began) {
			continue // the scan may not have seen what it was woken for
		}
		w.turns[laneOf(k.Lane)].Remove(k)
		// Its trail stays while it saves walking over it. A short one that is
		// due to begin at the start is worth nothing.
		if st.trail.Long() < ledger.LongTrail && st.trail.Whole(now) {
			delete(w.keys, k)
		}
	}
}
