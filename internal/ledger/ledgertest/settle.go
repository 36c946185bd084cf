package ledgertest

import (
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Settle: invariant 3, the transition table, and case B25 (a recovery that
// read before a settle committed).
func Settle(t *testing.T, open Opener) {
	t.Run("every move of the table and no other", func(t *testing.T) {
		w := NewWorld(t, open)
		movers := []postledger.Mover{
			postledger.MoverWorker, postledger.MoverGate, postledger.MoverSweep,
			postledger.MoverRecovery, postledger.MoverOperator,
		}
		for _, from := range []postledger.Status{
			postledger.StatusQueued, postledger.StatusSending, postledger.StatusUnconfirmed,
			postledger.StatusSent, postledger.StatusFailed, postledger.StatusSuppressed, postledger.StatusCanceled,
		} {
			for _, to := range postledger.Statuses() {
				if to == postledger.StatusSending {
					continue // only Lease writes it
				}
				for _, mover := range movers {
					id, fence := w.in(from)
					got := w.MustSettle(ledger.Settlement{ID: id, Fence: fence, Mover: mover, To: to, Reason: "r"})
					want := postledger.CanMove(from, to, mover)
					row := w.Row(id)
					if got.Applied != want || (want && row.Status != to) || (!want && row.Status != from) {
						t.Errorf("%s to %s by %s: applied %v, want %v, row is %s", from, to, mover, got.Applied, want, row.Status)
					}
				}
			}
		}
	})

	t.Run("an old fence changes nothing and says so", func(t *testing.T) {
		w := NewWorld(t, open)
		id := w.Send([]string{"a@x.example"})[0]
		old := w.LeaseN(1)[0]
		w.MustSettle(ledger.Settlement{ID: id, Fence: old.Fence, Mover: postledger.MoverRecovery, Owner: w.Worker.ID, To: postledger.StatusQueued})
		current := w.LeaseN(1)[0]
		if got := w.MustSettle(ledger.Settlement{ID: id, Fence: old.Fence, Mover: postledger.MoverWorker, To: postledger.StatusFailed}); got.Applied || got.Status != postledger.StatusSending {
			t.Fatalf("old fence: %+v", got)
		}
		if got := w.MustSettle(ledger.Settlement{ID: id, Fence: current.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent}); !got.Applied {
			t.Fatalf("current fence: %+v", got)
		}
	})

	t.Run("a certain answer is taken after recovery said unconfirmed", func(t *testing.T) {
		w := NewWorld(t, open)
		id := w.Send([]string{"a@x.example"})[0]
		l := w.LeaseN(1)[0]
		w.MustSettle(ledger.Settlement{ID: id, Fence: l.Fence, Mover: postledger.MoverRecovery, Owner: w.Worker.ID, To: postledger.StatusUnconfirmed, Reason: postledger.ReasonWorkerLost})
		if r := w.Row(id); r.ResolveBy.IsZero() || r.SettledAt.IsZero() {
			t.Fatalf("unconfirmed row %+v", r)
		}
		got := w.MustSettle(ledger.Settlement{ID: id, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent, Response: "250 ok"})
		if !got.Applied || got.From != postledger.StatusUnconfirmed {
			t.Fatalf("late answer: %+v", got)
		}
		if r := w.Row(id); r.Status != postledger.StatusSent || !r.ResolveBy.IsZero() || r.Response != "250 ok" {
			t.Fatalf("row %+v", r)
		}
	})

	t.Run("recovery under a settled row's fence changes nothing", func(t *testing.T) {
		w := NewWorld(t, open)
		id := w.Send([]string{"a@x.example"})[0]
		l := w.LeaseN(1)[0]
		w.MustSettle(ledger.Settlement{ID: id, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent})
		for _, to := range []postledger.Status{postledger.StatusQueued, postledger.StatusUnconfirmed} {
			if got := w.MustSettle(ledger.Settlement{ID: id, Fence: l.Fence, Owner: w.Worker.ID, Mover: postledger.MoverRecovery, To: to}); got.Applied || got.Status != postledger.StatusSent {
				t.Fatalf("recovery to %s: %+v", to, got)
			}
		}
		if got := w.MustSettle(ledger.Settlement{ID: w.NewID(), Fence: 1, Mover: postledger.MoverWorker, To: postledger.StatusSent}); got.Applied || got.Status != "" {
			t.Fatalf("no such row: %+v", got)
		}
	})

	t.Run("a message is settled with its last delivery", func(t *testing.T) {
		w := NewWorld(t, open)
		w.Send([]string{"a@x.example", "b@x.example"})
		l := w.LeaseN(1)
		settledAt := func() time.Time {
			return w.settledAt(l[0].MessageID)
		}
		w.MustSettle(ledger.Settlement{ID: l[0].ID, Fence: 1, Mover: postledger.MoverWorker, To: postledger.StatusSent})
		if !settledAt().IsZero() {
			t.Fatal("settled with one delivery open")
		}
		w.MustSettle(ledger.Settlement{ID: l[1].ID, Fence: 1, Mover: postledger.MoverWorker, To: postledger.StatusUnconfirmed, Reason: postledger.ReasonNoAnswer})
		if settledAt().IsZero() {
			t.Fatal("not settled with all deliveries settled")
		}
		w.MustSettle(ledger.Settlement{ID: l[1].ID, Fence: ledger.AnyFence, Mover: postledger.MoverOperator, To: postledger.StatusQueued, Reason: postledger.ReasonResend})
		if !settledAt().IsZero() {
			t.Fatal("settled with one delivery sent again")
		}
		if r := w.Row(l[1].ID); !r.Resent {
			t.Fatal("a resend is not marked")
		}
	})

	t.Run("charged and uncharged returns", func(t *testing.T) {
		w := NewWorld(t, open)
		id := w.Send([]string{"a@x.example"})[0]
		for i := 1; i <= 3; i++ {
			l := w.LeaseN(1)[0]
			w.MustSettle(ledger.Settlement{ID: id, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusQueued, Uncharged: true})
		}
		l := w.LeaseN(1)[0]
		if l.Uncharged != 3 || l.Attempts != 0 || !l.FirstChargedAt.IsZero() {
			t.Fatalf("after three returns: %+v", l)
		}
		w.MustSettle(ledger.Settlement{ID: id, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusQueued, Charged: true})
		if l = w.LeaseN(1)[0]; l.Uncharged != 0 || l.Attempts != 1 || l.FirstChargedAt.IsZero() {
			t.Fatalf("after a charged one: %+v", l)
		}
	})

	t.Run("a large batch settles as one", func(t *testing.T) {
		w := NewWorld(t, open)
		var ms []ledger.NewMessage
		for range 500 {
			ms = append(ms, w.Message([]string{"a@x.example"}))
		}
		_, err := w.Accept(t.Context(), w.Request(ms...))
		must(t, err)
		l := w.LeaseN(500)
		ss := make([]ledger.Settlement, len(l))
		for i := range l {
			ss[len(l)-1-i] = ledger.Settlement{ID: l[i].ID, Fence: l[i].Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent}
		}
		out, err := w.Settle(t.Context(), ss)
		must(t, err)
		if len(out) != 500 {
			t.Fatalf("%d answers", len(out))
		}
		for i, o := range out {
			if !o.Applied {
				t.Fatalf("answer %d: %+v", i, o)
			}
		}
	})
}

// settledAt is when a message was settled, as its view and the list say.
func (w *World) settledAt(message postledger.ID) time.Time {
	w.T.Helper()
	v, err := w.MessageByID(w.T.Context(), w.App.ID, message)
	must(w.T, err)
	p, err := w.Messages(w.T.Context(), ledger.Filter{App: w.App.ID, Message: message}, ledger.Paging{Limit: 1})
	must(w.T, err)
	if len(p.Items) != 1 || !p.Items[0].SettledAt.Equal(v.SettledAt) {
		w.T.Fatalf("the list says %+v, the view %v", p.Items, v.SettledAt)
	}
	return v.SettledAt
}

// in makes a delivery that is in the given state.
func (w *World) in(s postledger.Status) (postledger.ID, int64) {
	w.T.Helper()
	id := w.Send([]string{"a@x.example"})[0]
	move := func(mover postledger.Mover, fence int64, to postledger.Status) {
		if got := w.MustSettle(ledger.Settlement{ID: id, Fence: fence, Mover: mover, To: to}); !got.Applied {
			w.T.Fatalf("make a %s row: %+v", s, got)
		}
	}
	switch s {
	case postledger.StatusQueued:
		return id, 0
	case postledger.StatusCanceled, postledger.StatusSuppressed:
		move(postledger.MoverSweep, ledger.AnyFence, s)
		return id, 0
	}
	for {
		l := w.LeaseN(1)
		if len(l) == 0 {
			w.T.Fatal("nothing to lease")
		}
		if l[0].ID == id {
			if s != postledger.StatusSending {
				move(postledger.MoverWorker, l[0].Fence, s)
			}
			return id, l[0].Fence
		}
	}
}

// Cancel: what is queued is canceled, what is on the wire keeps its outcome.
func Cancel(t *testing.T, open Opener) {
	t.Run("on the wire it is a wish", func(t *testing.T) {
		w := NewWorld(t, open)
		id := w.Send([]string{"a@x.example"})[0]
		l := w.LeaseN(1)[0]
		done, err := w.Cancel(t.Context(), []postledger.ID{id, w.NewID()}, postledger.ReasonCanceledByOperator, "op")
		must(t, err)
		if !done[0].Wished || done[0].Status != postledger.StatusSending || done[1].Status != "" {
			t.Fatalf("cancel: %+v", done)
		}
		// A safe retry then becomes canceled, with the reason of who asked.
		got := w.MustSettle(ledger.Settlement{ID: id, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusQueued, Reason: postledger.ReasonDeferred, Charged: true})
		if !got.Applied || got.Status != postledger.StatusCanceled || got.Reason != postledger.ReasonCanceledByOperator {
			t.Fatalf("settle: %+v", got)
		}
	})
	t.Run("on unconfirmed it forbids a resend", func(t *testing.T) {
		w := NewWorld(t, open)
		id, _ := w.in(postledger.StatusUnconfirmed)
		_, err := w.Cancel(t.Context(), []postledger.ID{id}, postledger.ReasonCanceledByApp, "app")
		must(t, err)
		if got := w.MustSettle(ledger.Settlement{ID: id, Fence: ledger.AnyFence, Mover: postledger.MoverOperator, To: postledger.StatusQueued}); got.Applied {
			t.Fatalf("resend after cancel: %+v", got)
		}
		if got := w.MustSettle(ledger.Settlement{ID: id, Fence: ledger.AnyFence, Mover: postledger.MoverOperator, To: postledger.StatusSent}); !got.Applied {
			t.Fatalf("resolve as sent: %+v", got)
		}
	})
	t.Run("settled ones are left alone", func(t *testing.T) {
		w := NewWorld(t, open)
		id, _ := w.in(postledger.StatusSent)
		done, err := w.Cancel(t.Context(), []postledger.ID{id}, postledger.ReasonCanceledByApp, "app")
		must(t, err)
		if done[0].Done || done[0].Wished || done[0].Status != postledger.StatusSent {
			t.Fatalf("cancel: %+v", done)
		}
	})
	t.Run("a deadline that passed is listed while it waits", func(t *testing.T) {
		w := NewWorld(t, open)
		id := w.Send([]string{"a@x.example"}, WithDeadline(time.Now().Add(-time.Second)))[0]
		w.Send([]string{"a@x.example"}, WithDeadline(time.Now().Add(time.Hour)))
		ids, err := w.PastDeadline(t.Context(), 10)
		must(t, err)
		if len(ids) != 1 || ids[0] != id {
			t.Fatalf("past deadline: %v", ids)
		}
	})
}
