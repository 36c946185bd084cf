package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// listMessage: one message with everything about it, for its app only
// (invariants 14 and 18).
func listMessage(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	other := w.newApp("other")
	ids := w.Send([]string{"a@x.example", "b@x.example", "c@x.example"})
	l := w.LeaseN(1)
	message := l[0].MessageID
	for i, d := range l {
		to, reason := postledger.StatusSent, postledger.Reason("")
		if i == 1 {
			to, reason = postledger.StatusFailed, postledger.ReasonRejectedRecipient
		}
		w.MustSettle(ledger.Settlement{
			ID: d.ID, Fence: d.Fence, Mover: postledger.MoverWorker, To: to, Reason: reason, Charged: true, Response: "550 {rcpt}",
			Event: &ledger.Event{Kind: "outcome", Phase: postledger.PhaseRcpt, Code: 550},
		})
	}
	v, err := w.MessageByID(ctx, w.App.ID, message)
	must(t, err)
	if v.ID != message || len(v.Deliveries) != 3 || v.Deliveries[1].ID != ids[1] || len(v.Events[ids[1]]) != 1 || v.Events[ids[1]][0].To != postledger.StatusFailed {
		t.Fatalf("view %+v", v)
	}
	s := v.Summary
	if s.Status != postledger.StatusSent || s.Counts[postledger.StatusSent] != 2 || len(s.Failures) != 1 ||
		s.Failures[0].Recipient != "b@x.example" || s.Failures[0].Reason != postledger.ReasonRejectedRecipient || s.Failures[0].At.IsZero() {
		t.Fatalf("summary %+v", s)
	}
	sums, err := w.Summaries(ctx, []postledger.ID{message, w.NewID()})
	must(t, err)
	if len(sums) != 1 || sums[message].Status != postledger.StatusSent || sums[message].Counts[postledger.StatusFailed] != 1 {
		t.Fatalf("summaries %+v", sums)
	}
	if v, err = w.MessageByID(ctx, postledger.ID{}, message); err != nil || v.ID != message {
		t.Fatalf("an operator: %v", err)
	}
	_, foreign := w.MessageByID(ctx, other.ID, message)
	_, unknown := w.MessageByID(ctx, other.ID, w.NewID())
	wantErr(t, foreign, ledger.ErrMessageUnknown)
	if foreign.Error() != unknown.Error() {
		t.Fatalf("a foreign id says %q, an unknown one %q", foreign, unknown)
	}

	c, err := w.ReadContent(ctx, w.App.ID, message, w.did("content.read"))
	must(t, err)
	if c.Text != "hello" || len(c.Headers) != 1 {
		t.Fatalf("content %+v", c)
	}
	_, err = w.ReadContent(ctx, other.ID, message, w.did("content.read"))
	wantErr(t, err, ledger.ErrMessageUnknown)
	trail, err := w.Audit(ctx, ledger.AuditFilter{Action: "content.read"}, ledger.Paging{Limit: 10})
	must(t, err)
	if len(trail.Items) != 1 {
		t.Fatalf("%d lines for one read", len(trail.Items))
	}
}

// listSelections: a filter's deliveries, step by step, while they leave it.
func listSelections(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	batch := w.NewID()
	w.batch(25, withBatch(batch))
	w.batch(5)
	for _, f := range []ledger.Filter{{App: w.App.ID, Batch: batch}, {App: w.App.ID}} {
		var seen []postledger.ID
		var at ledger.Mark
		for {
			s, err := w.SelectOpen(ctx, f, at, 10)
			must(t, err)
			seen = append(seen, s.IDs...)
			_, err = w.Cancel(ctx, s.IDs, postledger.ReasonCanceledByApp, "test")
			must(t, err)
			if s.Done {
				break
			}
			at = s.Next
		}
		want := 25
		if f.Batch.IsZero() {
			want = 5
		}
		if len(seen) != want || !slices.IsSortedFunc(seen, func(a, b postledger.ID) int { return slices.Compare(a[:], b[:]) }) {
			t.Fatalf("%+v: selected %d, want %d in order", f, len(seen), want)
		}
	}
	_, err := w.SelectOpen(ctx, ledger.Filter{}, ledger.Mark{}, 10)
	if err == nil {
		t.Fatal("an empty filter selects everything")
	}
	id, _ := w.in(postledger.StatusUnconfirmed)
	w.in(postledger.StatusSent)
	s, err := w.SelectUnconfirmed(ctx, ledger.Filter{}, ledger.Mark{}, 10)
	must(t, err)
	if !s.Done || len(s.IDs) != 1 || s.IDs[0] != id {
		t.Fatalf("unconfirmed: %+v", s)
	}
	selectionsByReason(t, open)
}

// selectionsByReason: what is in its state for another reason is passed over,
// also where a whole step holds nothing else, and with each kind of filter.
func selectionsByReason(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	want := map[postledger.Reason][]postledger.ID{}
	unconfirmed := func(n int, reason postledger.Reason, opts ...Option) {
		for range n {
			id := w.Send([]string{"a@x.example"}, opts...)[0]
			w.MustSettle(ledger.Settlement{
				ID: id, Fence: ledger.AnyFence, Mover: postledger.MoverRecovery, To: postledger.StatusUnconfirmed, Reason: reason,
			})
			want[reason] = append(want[reason], id)
		}
	}
	batch := w.NewID()
	unconfirmed(4, postledger.ReasonNoAnswer, withBatch(batch))
	unconfirmed(3, postledger.ReasonRestored, withBatch(batch))
	unconfirmed(5, postledger.ReasonWorkerLost, withBatch(batch))
	unconfirmed(0, postledger.ReasonSandbox)
	w.in(postledger.StatusSent)
	type selecting = func(context.Context, ledger.Filter, ledger.Mark, int) (ledger.Selection, error)
	for name, read := range map[string]selecting{"unconfirmed": w.SelectUnconfirmed, "open": w.SelectOpen} {
		for reason, want := range want {
			for _, f := range []ledger.Filter{
				{},
				{App: w.App.ID},
				{Profile: w.Profile.ID},
				{Batch: batch},
				{Recipient: "a@x.example"},
				{Prefix: "a@"},
				{IDs: slices.Concat(want, []postledger.ID{w.NewID()})},
				{Since: time.Now().Add(-time.Hour)},
			} {
				f.Reason = reason
				var got []postledger.ID
				var at ledger.Mark
				for {
					s, err := read(ctx, f, at, 2)
					must(t, err)
					got = append(got, s.IDs...)
					if s.Done {
						break
					}
					at = s.Next
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, %+v: got %v, want %v", name, f, got, want)
				}
			}
		}
	}
	// A list refuses what it would pass over.
	var bad *ledger.FilterError
	_, err := w.Deliveries(ctx, ledger.Filter{Reason: postledger.ReasonRestored}, ledger.Paging{Limit: 10})
	if !errors.As(err, &bad) || bad.Field != "reason" {
		t.Errorf("deliveries: %v", err)
	}
	_, err = w.Messages(ctx, ledger.Filter{Reason: postledger.ReasonRestored}, ledger.Paging{Limit: 10})
	if !errors.As(err, &bad) || bad.Field != "reason" {
		t.Errorf("messages: %v", err)
	}
}

func listStats(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	w.Send([]string{"a@x.example", "b@x.example"})
	w.Send([]string{"c@x.example"}, WithLane(postledger.LaneBulk))
	l := w.LeaseN(1)
	move := func(to postledger.Status, mover postledger.Mover, reason postledger.Reason) {
		got := w.MustSettle(ledger.Settlement{ID: l[0].ID, Fence: ledger.AnyFence, Mover: mover, To: to, Reason: reason})
		if !got.Applied {
			t.Fatalf("to %s: %+v", to, got)
		}
	}
	read := func(f ledger.StatsFilter) string {
		t.Helper()
		f.Since, f.Until = time.Now().Add(-2*time.Hour), time.Now().Add(time.Hour)
		hours, err := w.StatsHours(ctx, f)
		must(t, err)
		var messages, deliveries int64
		settled := map[string]int64{}
		for _, h := range hours {
			messages, deliveries = messages+h.Messages, deliveries+h.Deliveries
			for _, s := range h.Settled {
				settled[string(s.Status)+"/"+string(s.Reason)] += s.N
			}
		}
		return fmt.Sprint(messages, deliveries, settled)
	}
	move(postledger.StatusUnconfirmed, postledger.MoverWorker, postledger.ReasonNoAnswer)
	if got := read(ledger.StatsFilter{App: w.App.ID}); got != "2 3 map[unconfirmed/no_answer:1]" {
		t.Errorf("stats %s", got)
	}
	move(postledger.StatusSent, postledger.MoverOperator, postledger.ReasonResolved)
	for want, f := range map[string]ledger.StatsFilter{
		"2 3 map[sent/resolved:1 unconfirmed/no_answer:0]": {},
		"1 2 map[sent/resolved:1 unconfirmed/no_answer:0]": {Lane: postledger.LaneImmediate, Profile: w.Profile.ID},
		"1 1 map[]": {Lane: postledger.LaneBulk},
		"0 0 map[]": {App: w.NewID()},
	} {
		if got := read(f); got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
	_, err := w.StatsHours(ctx, ledger.StatsFilter{})
	wantErr(t, err, ledger.ErrFilterTooBroad)
}
