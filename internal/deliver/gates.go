package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// gateAge is how old a lease may be until the ledger is asked again what was
// true when it was leased.
const gateAge = 5 * time.Second

// gates takes the members out of e that may not be sent, and says how each is
// settled. They run right before the bytes are built.
func (w *Worker) gates(e *envelope) []ledger.Settlement {
	var checks map[postledger.ID]ledger.Check
	if time.Since(e.leasedAt) > gateAge {
		ctx, cancel := context.WithTimeout(w.work, w.c.Timeout)
		defer cancel()
		ids := make([]postledger.ID, len(e.members))
		for i := range e.members {
			ids[i] = e.members[i].ID
		}
		var err error
		if checks, err = w.c.Ledger.Recheck(ctx, ids); err != nil {
			w.c.Log.Error("check gates again", slog.Any("error", err))
			out := make([]ledger.Settlement, len(e.members))
			for i := range e.members {
				out[i] = stop(&e.members[i], postledger.MoverWorker, postledger.StatusQueued, postledger.ReasonReturned)
			}
			e.members = nil
			return out
		}
	}
	w.mu.Lock()
	removed, revoked := !e.lineup.profile.RemovedAt.IsZero(), w.barred(e.members[0].AppID, e.members[0].ProfileID)
	w.mu.Unlock()

	var out []ledger.Settlement
	kept := e.members[:0]
	for i := range e.members {
		m := &e.members[i]
		if s, ok := e.gate(m, checks, removed, revoked); ok {
			out = append(out, s)
			continue
		}
		if len(kept) < i {
			kept = append(kept, *m)
		} else {
			kept = e.members[:i+1]
		}
	}
	e.members = kept
	return out
}

// gate decides about one member; ok says that it is stopped.
func (e *envelope) gate(m *ledger.Leased, checks map[postledger.ID]ledger.Check, removed, revoked bool) (ledger.Settlement, bool) {
	suppressed, canceled := m.Suppressed, postledger.Reason("")
	if checks != nil {
		c := checks[m.ID]
		suppressed, canceled = c.Suppressed, c.Canceled
	}
	switch {
	case canceled != "":
		return stop(m, postledger.MoverGate, postledger.StatusCanceled, canceled), true
	case removed:
		return stop(m, postledger.MoverGate, postledger.StatusCanceled, postledger.ReasonProfileRemoved), true
	case revoked:
		return stop(m, postledger.MoverGate, postledger.StatusCanceled, postledger.ReasonAccessRevoked), true
	case suppressed:
		return stop(m, postledger.MoverGate, postledger.StatusSuppressed, postledger.ReasonSuppressionList), true
	case e.expired(m):
		return stop(m, postledger.MoverWorker, postledger.StatusFailed, postledger.ReasonExpired), true
	}
	return ledger.Settlement{}, false
}

// expired compares the deadline with the ledger's clock: its moment of the
// lease plus the time that has passed here since.
func (e *envelope) expired(m *ledger.Leased) bool {
	return !m.ExpiresAt.IsZero() && !m.LeasedAt.Add(time.Since(e.leasedAt)).Before(m.ExpiresAt)
}

func stop(m *ledger.Leased, mover postledger.Mover, to postledger.Status, reason postledger.Reason) ledger.Settlement {
	s := ledger.Settlement{ID: m.ID, Fence: m.Fence, Mover: mover, To: to, Reason: reason}
	if to != postledger.StatusQueued {
		s.Event = &ledger.Event{Kind: "gate"}
	}
	return s
}
