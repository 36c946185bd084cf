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
// operator's decision. A marking that a crash interrupted is finished, up to
// the moment it began with.
//
// It returns the journals that have told all they know. They stay until this
// process has a journal with a heartbeat of its own: were it to fail in between
// and the ledger to be put back then, nothing else would tell.
func (w *Worker) checkAge(ctx context.Context, state ledger.State) (told, ended []string, err error) {
	entries, err := journal.List(w.c.JournalDir, state.LedgerID)
	if err != nil {
		return nil, nil, fmt.Errorf("list journals: %w", err)
	}
	older := false
	var proof []ledger.Worker
	for _, e := range entries {
		if e.Err != nil {
			w.c.Log.Warn("journal proves nothing", slog.String("path", e.Path), slog.Any("error", e.Err))
			continue
		}
		row, known, err := w.c.Ledger.WorkerByID(ctx, e.Worker)
		if err != nil {
			return nil, nil, fmt.Errorf("look up journal's worker: %w", err)
		}
		switch {
		case !known && e.Header.Beat == 0:
			// It ended before its row was written, or is about to write it: a
			// worker without a row leases nothing, and nothing is missing.
			told = append(told, e.Path)
		case !known || row.Before(journalCounts(e)):
			w.c.Log.Warn("the ledger is older than a journal of this machine", slog.String("worker", e.Worker.String()))
			older = true
			told = append(told, e.Path)
			proof = append(proof, ledger.Worker{
				ID: e.Worker, Host: w.c.Host, BootID: e.Header.Boot.String(), Counts: journalCounts(e),
			})
		case !row.EndedAt.IsZero():
			told, ended = append(told, e.Path), append(ended, e.Path)
		}
	}
	moment := state.RestoredAt
	if older || state.Restoring && moment.IsZero() {
		if moment, err = w.c.Ledger.BeginRestore(ctx, time.Time{}, proof); err != nil {
			return nil, nil, fmt.Errorf("mark restored: %w", err)
		}
	}
	if older || state.Restoring {
		n, err := markRestored(ctx, w.c.Ledger, moment, w.c.Kill)
		if err != nil {
			return nil, nil, err
		}
		w.c.Log.Warn("the ledger was restored: what was open is unconfirmed until an operator decides",
			slog.Int("deliveries", n), slog.Time("accepted_until", moment))
	}
	return told, ended, nil
}

// journalCounts are what a journal knows was committed.
func journalCounts(e journal.Entry) ledger.Counts {
	return ledger.Counts{Beats: int64(e.Header.Beat), Settles: int64(e.Header.Settles)}
}

// discardTold removes the journals that checkAge returned.
func discardTold(told []string) error {
	for _, path := range told {
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
	ReadState(ctx context.Context) (ledger.State, error)
	BeginRestore(ctx context.Context, at time.Time, proof []ledger.Worker) (time.Time, error)
	EndRestore(ctx context.Context, moment time.Time) (time.Time, error)
	OpenBefore(ctx context.Context, at time.Time, after postledger.ID, limit int) ([]postledger.ID, error)
	Settle(ctx context.Context, ss []ledger.Settlement) ([]ledger.Settled, error)
}

// ErrNotMarking: there is no interrupted marking to go on with.
var ErrNotMarking = errors.New("no marking was interrupted")

// MarkRestored makes every delivery that was open at the given moment
// unconfirmed/restored, and returns how many and that moment. A zero moment is
// now, also when the ledger says that a marking was interrupted: it may have
// been put back from a backup taken during one, and what was accepted and sent
// since then is open in it. Nothing is leased until it has finished, also when
// it is interrupted; it may be run again.
func MarkRestored(ctx context.Context, l RestoreLedger, at time.Time) (int, time.Time, error) {
	at, err := l.BeginRestore(ctx, at, nil)
	if err != nil {
		return 0, at, fmt.Errorf("mark restored: %w", err)
	}
	n, err := markRestored(ctx, l, at, func(string) {})
	return n, at, err
}

// ResumeMarking goes on with a marking that was interrupted, up to the moment of
// that one: what was accepted since then stays queued. Only who knows that the
// ledger was not put back since may ask for it.
func ResumeMarking(ctx context.Context, l RestoreLedger) (int, time.Time, error) {
	state, err := l.ReadState(ctx)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("resume marking: %w", err)
	}
	if !state.Restoring || state.RestoredAt.IsZero() {
		return 0, time.Time{}, ErrNotMarking
	}
	n, err := markRestored(ctx, l, state.RestoredAt, func(string) {})
	return n, state.RestoredAt, err
}

// markRestored marks until the ledger is open again: another process may begin
// a marking with a later moment meanwhile, and this one then does that too.
func markRestored(ctx context.Context, l RestoreLedger, moment time.Time, kill func(string)) (int, error) {
	n := 0
	for !moment.IsZero() {
		marked, err := markBefore(ctx, l, moment, kill)
		n += marked
		if err == nil {
			moment, err = l.EndRestore(ctx, moment)
		}
		if err != nil {
			return n, fmt.Errorf("mark restored: %w", err)
		}
	}
	return n, nil
}

func markBefore(ctx context.Context, l RestoreLedger, at time.Time, kill func(string)) (int, error) {
	n := 0
	var after postledger.ID
	for {
		ids, err := l.OpenBefore(ctx, at, after, sweepPage)
		if err != nil || len(ids) == 0 {
			return n, err
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
			return n, err
		}
		for i := range out {
			if out[i].Applied {
				n++
			}
		}
	}
}
