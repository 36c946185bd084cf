package ledgertest

import (
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// SettleSent: a database may write what was sent in a way of its own. Twins
// are settled both ways, the long one chosen by naming the lease's owner, and
// must not differ in anything.
func SettleSent(t *testing.T, open Opener) {
	for _, c := range []struct {
		name   string
		before func(w *World, id postledger.ID, l *ledger.Leased) // what happened to the leased delivery
		s      ledger.Settlement
	}{
		{name: "charged", s: ledger.Settlement{Charged: true, Response: "250 ok", ProviderID: "p-1"}},
		{name: "kept by a sandbox", s: ledger.Settlement{Charged: true, Reason: postledger.ReasonSandbox}},
		{name: "uncharged", s: ledger.Settlement{Uncharged: true}},
		{name: "neither, with nothing to say", s: ledger.Settlement{}},
		{
			name: "after a charged and an uncharged return, whose reply stays", s: ledger.Settlement{Charged: true},
			before: func(w *World, id postledger.ID, l *ledger.Leased) {
				w.again(id, l, ledger.Settlement{Charged: true, Response: "451 later", ProviderID: "p-0"})
				w.again(id, l, ledger.Settlement{Uncharged: true})
			},
		},
		{
			name: "with a wish to cancel", s: ledger.Settlement{Charged: true},
			before: func(w *World, id postledger.ID, _ *ledger.Leased) {
				_, err := w.Cancel(w.T.Context(), []postledger.ID{id}, postledger.ReasonCanceledByApp, "op")
				must(w.T, err)
			},
		},
		{
			name: "under an old fence", s: ledger.Settlement{Charged: true},
			before: func(_ *World, _ postledger.ID, l *ledger.Leased) { l.Fence-- },
		},
		{
			name: "that failed meanwhile", s: ledger.Settlement{Charged: true},
			before: func(w *World, id postledger.ID, l *ledger.Leased) {
				w.MustSettle(ledger.Settlement{ID: id, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusFailed, Reason: postledger.ReasonRejectedMessage})
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := NewWorld(t, open)
			var rows [2]postledger.Delivery
			var answers [2]ledger.Settled
			var settled [2]bool
			for way, owner := range []postledger.ID{{}, w.Worker.ID} {
				id := w.Send([]string{"a@x.example"})[0]
				l := w.LeaseN(1)[0]
				if c.before != nil {
					c.before(w, id, &l)
				}
				s := c.s
				s.ID, s.Fence, s.Mover, s.To, s.Owner = id, l.Fence, postledger.MoverWorker, postledger.StatusSent, owner
				answers[way], rows[way] = w.MustSettle(s), w.Row(id)
				settled[way] = !w.settledAt(l.MessageID).IsZero()
			}
			if a, b := twin(rows[0]), twin(rows[1]); a != b {
				t.Errorf("rows differ:\n%+v\n%+v", a, b)
			}
			for i := range answers {
				answers[i].MessageID, answers[i].CreatedAt = postledger.ID{}, time.Time{}
			}
			if answers[0] != answers[1] {
				t.Errorf("answers differ:\n%+v\n%+v", answers[0], answers[1])
			}
			if settled[0] != settled[1] {
				t.Errorf("messages are settled: %v", settled)
			}
		})
	}

	t.Run("several of one message, and others beside them", func(t *testing.T) {
		w := NewWorld(t, open)
		w.Send([]string{"a@x.example", "b@x.example", "c@x.example"})
		w.Send([]string{"d@x.example"})
		ls := w.LeaseN(4)
		var ss []ledger.Settlement
		for _, l := range ls {
			ss = append(ss, ledger.Settlement{ID: l.ID, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent, Charged: true})
		}
		ss[1].To, ss[1].Reason = postledger.StatusFailed, postledger.ReasonRejectedMessage
		ss[1].Event = &ledger.Event{Kind: "refused", Code: 550}
		out, settles, err := w.SettleBy(t.Context(), w.Worker.ID, ledger.Counts{}, ss)
		must(t, err)
		for i, o := range out {
			if !o.Applied || o.Status != ss[i].To || o.MessageID != ls[i].MessageID || w.Row(ss[i].ID).Status != ss[i].To {
				t.Errorf("answer %d: %+v", i, o)
			}
		}
		if v, _, err := w.WorkerByID(t.Context(), w.Worker.ID); err != nil || v.Settles != settles || settles == 0 {
			t.Errorf("the counter is %d and was told as %d: %v", v.Settles, settles, err)
		}
		for _, l := range ls {
			if w.settledAt(l.MessageID).IsZero() {
				t.Errorf("message %s is not settled", l.MessageID)
			}
		}
		// The same call again, as after a COMMIT whose answer was lost.
		again, _, err := w.SettleBy(t.Context(), w.Worker.ID, ledger.Counts{}, ss)
		must(t, err)
		for i, o := range again {
			if o.Applied || o.Status != ss[i].To {
				t.Errorf("repeated %d: %+v", i, o)
			}
		}
	})
}

// again brings a leased delivery back and leases it anew.
func (w *World) again(id postledger.ID, l *ledger.Leased, s ledger.Settlement) {
	w.T.Helper()
	s.ID, s.Fence, s.Mover, s.To = id, l.Fence, postledger.MoverWorker, postledger.StatusQueued
	if got := w.MustSettle(s); !got.Applied {
		w.T.Fatalf("bring it back: %+v", got)
	}
	*l = w.LeaseN(1)[0]
}

// twin is d without what differs between two deliveries that met the same.
func twin(d postledger.Delivery) postledger.Delivery {
	d.ID, d.MessageID, d.EnvelopeID = postledger.ID{}, postledger.ID{}, postledger.ID{}
	// Whether a time is set, and whether the first charge was this one.
	if !d.FirstChargedAt.IsZero() && d.FirstChargedAt.Equal(d.SentAt) {
		d.Attempts += 1000
	}
	for _, at := range []*time.Time{
		&d.CreatedAt, &d.DueAt, &d.LeasedAt, &d.FirstChargedAt, &d.ExpiresAt, &d.DatedAt,
		&d.CancelRequestedAt, &d.SentAt, &d.SettledAt, &d.ResolveBy,
	} {
		if !at.IsZero() {
			*at = time.Unix(1, 0)
		}
	}
	return d
}
