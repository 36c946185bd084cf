package deliver

import (
	"fmt"
	"log/slog"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/journal"
)

// wire records an envelope's two moments in the journal.
type wire struct {
	w     *Worker
	e     *envelope
	slot  journal.Slot
	begun bool
}

// Begun lets the last byte leave only while this worker may transmit, and
// after the journal says so.
func (r *wire) Begun(known []postledger.Outcome) error {
	if !r.w.life.holds(r.e.era) {
		return errStale
	}
	if err := r.w.work.Err(); err != nil {
		return fmt.Errorf("the worker is stopping: %w", err)
	}
	members := make([]journal.Member, len(r.e.members))
	for i := range r.e.members {
		m := &r.e.members[i]
		members[i] = journal.Member{Delivery: m.ID, Fence: m.Fence}
	}
	slot, err := r.w.journal.Begun(r.e.members[0].EnvelopeID, members, known)
	if err != nil {
		r.w.c.Log.Error("journal begun", slog.Any("error", err))
		return fmt.Errorf("journal: %w", err)
	}
	r.slot, r.begun = slot, true
	r.w.c.Kill("wire_before_dot")
	return nil
}

// Answered records the answer before anything else is done with it. If that
// fails, a crash from here on makes the members unconfirmed: doubt, not loss.
func (r *wire) Answered(outcomes []postledger.Outcome) {
	r.w.c.Kill("wire_answered")
	if err := r.w.journal.Answered(r.slot, outcomes); err != nil {
		r.w.c.Log.Error("journal answered", slog.Any("error", err))
	}
	r.w.c.Kill("answer_journaled")
}

func (r *wire) free() {
	if !r.begun {
		return
	}
	if err := r.w.journal.Free(r.slot); err != nil {
		r.w.c.Log.Error("free journal slot", slog.Any("error", err))
	}
}
