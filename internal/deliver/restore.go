package deliver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/journal"
	"github.com/postledger/postledger/internal/ledger"
)

// checkAge finds out whether the ledger is older than what this machine's
// workers know they committed to it (invariant 17): a journal whose worker the
// ledger does not know, or knows with an older heartbeat, was written to
// another future. What was open then is marked, and leaves only by an
// operator's decision. A marking that a crash interrupted is finished.
func (w *Worker) checkAge(ctx context.Context, state ledger.State) error {
	entries, err := journal.List(w.c.JournalDir, state.LedgerID)
	if err != nil {
		return fmt.Errorf("list journals: %w", err)
	}
	older := state.Restoring
	var stale []string // what is told by them is known: compared, and nothing of it is leased
	for _, e := range entries {
		if e.Err != nil {
			w.c.Log.Warn("journal proves nothing", slog.String("path", e.Path), slog.Any("error", e.Err))
			continue
		}
		row, known, err := w.c.Ledger.WorkerByID(ctx, e.Worker)
		if err != nil {
			return fmt.Errorf("look up journal's worker: %w", err)
		}
		switch {
		case !known && e.Header.Beat == 0:
			// It ended before its row was written, or is about to write it: a
			// worker without a row leases nothing, and nothing is missing.
			stale = append(stale, e.Path)
		case !known || row.Beat < int64(e.Header.Beat):
			w.c.Log.Warn("the ledger is older than a journal of this machine", slog.String("worker", e.Worker.String()))
			older = true
			stale = append(stale, e.Path)
		case !row.EndedAt.IsZero():
			stale = append(stale, e.Path)
		}
	}
	if older {
		now, err := w.c.Ledger.Now(ctx)
		if err != nil {
			return fmt.Errorf("mark restored: %w", err)
		}
		n, err := markRestored(ctx, w.c.Ledger, now, w.c.Kill)
		if err != nil {
			return err
		}
		w.c.Log.Warn("the ledger was restored: what was open is unconfirmed until an operator decides", slog.Int("deliveries", n))
	}
	for _, path := range stale {
		if err := discardDead(path); err != nil {
			return fmt.Errorf("remove journal: %w", err)
		}
	}
	return nil
}

// discardDead removes a journal unless a living process holds it.
func discardDead(path string) error {
	dead, err := journal.Open(path)
	switch {
	case err == nil:
		return dead.Remove()
	case errors.Is(err, journal.ErrAlive), errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return journal.Discard(path)
	}
}

// RestoreLedger is what marking needs.
type RestoreLedger interface {
	BeginRestore(ctx context.Context) error
	EndRestore(ctx context.Context) error
	OpenBefore(ctx context.Context, at time.Time, after postledger.ID, limit int) ([]postledger.ID, error)
	Settle(ctx context.Context, ss []ledger.Settlement) ([]ledger.Settled, error)
}

// MarkRestored makes every delivery that was open at the given moment
// unconfirmed/restored. Nothing is leased until it has finished, also when it
// is interrupted; it may be run again.
func MarkRestored(ctx context.Context, l RestoreLedger, at time.Time) (int, error) {
	return markRestored(ctx, l, at, func(string) {})
}

func markRestored(ctx context.Context, l RestoreLedger, at time.Time, kill func(string)) (int, error) {
	if err := l.BeginRestore(ctx); err != nil {
		return 0, fmt.Errorf("mark restored: %w", err)
	}
	n := 0
	var after postledger.ID
	for {
		ids, err := l.OpenBefore(ctx, at, after, sweepPage)
		if err != nil {
			return n, fmt.Errorf("mark restored: %w", err)
		}
		if len(ids) == 0 {
			break
		}
		kill("recovery_read")
		after = ids[len(ids)-1]
		ss := make([]ledger.Settlement, len(ids))
		for i, id := range ids {
			ss[i] = ledger.Settlement{
				ID: id, Fence: ledger.AnyFence, Mover: postledger.MoverRecovery, To: postledger.StatusUnconfirmed,
				Reason: postledger.ReasonRestored, Event: &ledger.Event{Kind: "restored"},
			}
		}
		out, err := l.Settle(ctx, ss)
		if err != nil {
			return n, fmt.Errorf("mark restored: %w", err)
		}
		for i := range out {
			if out[i].Applied {
				n++
			}
		}
	}
	if err := l.EndRestore(ctx); err != nil {
		return n, fmt.Errorf("mark restored: %w", err)
	}
	return n, nil
}
