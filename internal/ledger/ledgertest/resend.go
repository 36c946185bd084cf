package ledgertest

import (
	"slices"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// ResendDue: what a policy sends again is found in steps that each look at a
// bounded number of unconfirmed deliveries, whatever is held among them.
func ResendDue(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	again := ledger.Settlement{
		Fence: ledger.AnyFence, Mover: postledger.MoverOperator, To: postledger.StatusQueued, Reason: postledger.ReasonResend,
		Event: &ledger.Event{Kind: ledger.EventResend, Actor: ledger.ActorPolicy}, OwnEnvelope: true,
	}
	doubt := func(l ledger.Leased) {
		w.MustSettle(ledger.Settlement{ID: l.ID, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusUnconfirmed, Reason: postledger.ReasonNoAnswer})
	}
	var ids []postledger.ID
	for range 7 {
		ids = append(ids, w.Send([]string{"a@x.example"})...)
	}
	for _, l := range w.LeaseN(7) {
		doubt(l)
	}
	walk := func(profile postledger.ID) (found []postledger.ID, steps int) {
		var at ledger.Mark
		for {
			step, err := w.ResendDue(t.Context(), profile, at, 2)
			must(t, err)
			found = append(found, step.IDs...)
			steps++
			if len(step.IDs) > 2 || steps > 10 {
				t.Fatalf("step %d found %d", steps, len(step.IDs))
			}
			if step.Done {
				return found, steps
			}
			at = step.Next
		}
	}
	if found, steps := walk(w.Profile.ID); !slices.Equal(found, ids) || steps != 4 {
		t.Errorf("found %d of %d in %d steps", len(found), len(ids), steps)
	}
	if found, steps := walk(w.newProfile("other").ID); len(found) != 0 || steps != 4 {
		t.Errorf("another profile's walk found %d in %d steps", len(found), steps)
	}
	// All but the last are sent again, and are in doubt again.
	for _, id := range ids[:6] {
		again.ID = id
		w.MustSettle(again)
	}
	for _, l := range w.LeaseN(6) {
		doubt(l)
	}
	if found, steps := walk(w.Profile.ID); !slices.Equal(found, ids[6:]) || steps != 4 {
		t.Errorf("of what was sent again before it found %v in %d steps, want %v", found, steps, ids[6:])
	}
}
