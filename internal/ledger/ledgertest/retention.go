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

// Retention: invariant 15 and case B53.
func Retention(t *testing.T, open Opener, exec Exec) {
	t.Run("content", func(t *testing.T) { retentionContent(t, open, exec) })
	t.Run("records", func(t *testing.T) { retentionRecords(t, open, exec) })
	t.Run("keys and audit", func(t *testing.T) { retentionKeys(t, open) })
	t.Run("lag", func(t *testing.T) { retentionLag(t, open, exec) })
}

// oneOfEach makes a message in each state that retention tells apart, with
// three recipients where that matters.
func (w *World) oneOfEach(keys *[]string) map[string]postledger.ID {
	w.T.Helper()
	out := map[string]postledger.ID{}
	out["queued"] = w.Send([]string{"q@x.example"}, withAttachments(1, keys), WithSendAt(time.Now().Add(time.Hour)))[0]
	wire := func(name string, to []string, settle func(i int, d ledger.Leased, s *ledger.Settlement) bool) {
		out[name] = w.Send(to, withAttachments(1, keys))[0]
		for i, d := range w.LeaseN(1) {
			s := ledger.Settlement{ID: d.ID, Fence: d.Fence, Mover: postledger.MoverWorker, Charged: true, Event: &ledger.Event{Kind: "outcome"}}
			if settle(i, d, &s) {
				w.MustSettle(s)
			}
		}
	}
	to := func(status postledger.Status) func(int, ledger.Leased, *ledger.Settlement) bool {
		return func(_ int, _ ledger.Leased, s *ledger.Settlement) bool { s.To = status; return true }
	}
	three := []string{"a@x.example", "b@x.example", "c@x.example"}
	wire("sending", three[:1], func(int, ledger.Leased, *ledger.Settlement) bool { return false })
	wire("deferred", three[:1], func(_ int, _ ledger.Leased, s *ledger.Settlement) bool {
		s.To, s.Delay, s.Reason = postledger.StatusQueued, 48*time.Hour, postledger.ReasonDeferred
		return true
	})
	wire("half", three, func(i int, _ ledger.Leased, s *ledger.Settlement) bool {
		s.To = postledger.StatusSent
		return i != 1
	})
	wire("doubt", three, func(i int, _ ledger.Leased, s *ledger.Settlement) bool {
		s.To = postledger.StatusSent
		if i == 1 {
			s.To = postledger.StatusUnconfirmed
		}
		return true
	})
	wire("old doubt", three, to(postledger.StatusUnconfirmed))
	wire("sent", three, to(postledger.StatusSent))
	wire("failed", three[:1], to(postledger.StatusFailed))
	return out
}

// age makes a delivery's doubt older than its resolve-by time.
func (w *World) age(exec Exec, delivery postledger.ID) {
	exec(w.T, w.Ledger, `UPDATE deliveries SET resolve_by = 1 WHERE message_id = ?`, w.Row(delivery).MessageID)
}

// yesterday puts all times of messages back by a day.
func (w *World) yesterday(exec Exec) {
	const day = int64(24 * time.Hour / time.Microsecond)
	exec(w.T, w.Ledger, `UPDATE messages SET created_at = created_at - ?`, day)
	exec(w.T, w.Ledger, `UPDATE deliveries SET settled_at = settled_at - ?`, day)
}

func retentionContent(t *testing.T, open Opener, exec Exec) {
	w := NewWorld(t, open)
	ctx := t.Context()
	var keys []string
	of := w.oneOfEach(&keys)
	w.age(exec, of["old doubt"])
	now, err := w.Now(ctx)
	must(t, err)
	var fe *ledger.FilterError
	if _, err := w.PurgeContent(ctx, now.Add(time.Hour), postledger.ID{}, 10); !errors.As(err, &fe) || fe.Field != "before" {
		t.Fatalf("a purge of the future: %v", err)
	}
	early, err := w.PurgeContent(ctx, now.Add(-time.Hour), postledger.ID{}, 10)
	must(t, err)
	if early.Messages != 0 || !early.Done {
		t.Fatalf("nothing is an hour old: %+v", early)
	}
	purged := purgeIn(t, ctx, w, w.PurgeContent, 3)
	if purged.Messages != 3 || purged.Blobs != 3 || purged.KeptOpen != 4 || purged.KeptUnconfirmed != 1 {
		t.Fatalf("purged %+v", purged)
	}
	trash, err := w.TrashDue(ctx, 100)
	must(t, err)
	slices.Sort(trash)
	var want []string
	for _, name := range []string{"old doubt", "sent", "failed"} {
		want = append(want, fmt.Sprintf("%s/%s/0", w.App.ID, w.Row(of[name]).MessageID))
	}
	slices.Sort(want)
	if !slices.Equal(trash, want) {
		t.Fatalf("to delete %v, want %v", trash, want)
	}
	for name, id := range of {
		message := w.Row(id).MessageID
		_, err := w.ReadContent(ctx, w.App.ID, message, w.did("content.read"))
		gone := slices.Contains([]string{"old doubt", "sent", "failed"}, name)
		if gone != (err != nil) {
			t.Errorf("%s: read content: %v", name, err)
		}
		if gone {
			wantErr(t, err, ledger.ErrContentPurged)
		}
		v, err := w.MessageByID(ctx, w.App.ID, message)
		must(t, err)
		if gone == v.ContentPurgedAt.IsZero() {
			t.Errorf("%s: purged at %v", name, v.ContentPurgedAt)
		}
	}
	if again := purgeIn(t, ctx, w, w.PurgeContent, 3); again.Messages != 0 || again.KeptOpen != 4 || again.KeptUnconfirmed != 1 {
		t.Fatalf("again %+v", again)
	}
	balanced(t, w)
	must(t, w.ForgetTrash(ctx, trash))
	if trash, err = w.TrashDue(ctx, 100); err != nil || len(trash) != 0 {
		t.Fatalf("after the deletion: %v, %v", trash, err)
	}
}

// purgeIn purges all that may be purged now, in steps, and adds them up.
func purgeIn(t *testing.T, ctx context.Context, w *World, purge func(context.Context, time.Time, postledger.ID, int) (ledger.Purged, error), limit int) ledger.Purged {
	t.Helper()
	now, err := w.Now(ctx)
	must(t, err)
	var sum ledger.Purged
	for steps := 0; ; steps++ {
		p, err := purge(ctx, now, sum.Next, limit)
		must(t, err)
		sum.Messages, sum.Deliveries, sum.Blobs = sum.Messages+p.Messages, sum.Deliveries+p.Deliveries, sum.Blobs+p.Blobs
		sum.KeptOpen, sum.KeptUnconfirmed, sum.Next = sum.KeptOpen+p.KeptOpen, sum.KeptUnconfirmed+p.KeptUnconfirmed, p.Next
		if p.Deliveries > limit && p.Messages > 1 {
			t.Fatalf("a step of %d removed %d deliveries", limit, p.Deliveries)
		}
		if p.Done {
			return sum
		}
		if steps > 1000 {
			t.Fatal("the purge does not end")
		}
	}
}

// balanced fails when the books find anything.
func balanced(t *testing.T, w *World) ledger.Totals {
	t.Helper()
	r, err := w.Books(t.Context(), nil)
	must(t, err)
	if len(r.Differences) != 0 || r.Totals.Accepted != r.Totals.Sum() {
		t.Fatalf("books %+v", r)
	}
	return r.Totals
}

func retentionRecords(t *testing.T, open Opener, exec Exec) {
	w := NewWorld(t, open)
	ctx := t.Context()
	var keys []string
	of := w.oneOfEach(&keys)
	for range 30 {
		w.in(postledger.StatusSent)
	}
	w.age(exec, of["old doubt"])
	message := map[string]postledger.ID{}
	for name, id := range of {
		message[name] = w.Row(id).MessageID
	}
	before := balanced(t, w)
	purged := purgeIn(t, ctx, w, w.PurgeRecords, 7)
	if purged.Messages != 33 || purged.Deliveries != 37 || purged.Blobs != 3 || purged.KeptOpen != 4 || purged.KeptUnconfirmed != 1 {
		t.Fatalf("purged %+v", purged)
	}
	after := balanced(t, w)
	if after.Accepted != before.Accepted || after.Removed != 37 {
		t.Fatalf("totals %+v, before %+v", after, before)
	}
	for name, id := range message {
		_, err := w.MessageByID(ctx, w.App.ID, id)
		switch name {
		case "old doubt", "sent", "failed":
			wantErr(t, err, ledger.ErrMessageUnknown)
		default:
			must(t, err)
			if _, err = w.ReadContent(ctx, w.App.ID, id, w.did("content.read")); err != nil {
				t.Errorf("%s: content: %v", name, err)
			}
		}
	}
	// Run again, it still keeps them; and all of them leave later.
	if again := purgeIn(t, ctx, w, w.PurgeRecords, 7); again.Messages != 0 || again.KeptOpen != 4 {
		t.Fatalf("again %+v", again)
	}
	for _, name := range []string{"queued", "deferred"} {
		exec(t, w.Ledger, `UPDATE deliveries SET due_at = 1 WHERE id = ?`, of[name])
	}
	sent := 0
	for _, d := range w.LeaseN(10) {
		if w.MustSettle(ledger.Settlement{ID: d.ID, Fence: d.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent}).Applied {
			sent++
		}
	}
	if sent != 2 {
		t.Fatalf("%d of the 2 that waited were sent", sent)
	}
	// A doubt that was resolved settles its message anew.
	for _, d := range must2(w.DeliveriesOf(ctx, message["doubt"]))(t) {
		if d.Status == postledger.StatusUnconfirmed {
			w.MustSettle(ledger.Settlement{ID: d.ID, Fence: ledger.AnyFence, Mover: postledger.MoverOperator, To: postledger.StatusSent, Reason: postledger.ReasonResolved})
		}
	}
	if p := purgeIn(t, ctx, w, w.PurgeRecords, 1000); p.Messages != 3 || p.KeptOpen != 2 || p.KeptUnconfirmed != 0 {
		t.Fatalf("at last %+v", p)
	}
	balanced(t, w)
	// The counters by hour are kept.
	hours, err := w.StatsHours(ctx, ledger.StatsFilter{Since: time.Now().Add(-2 * time.Hour), Until: time.Now().Add(time.Hour)})
	must(t, err)
	var accepted int64
	for _, h := range hours {
		accepted += h.Deliveries
	}
	if accepted != before.Accepted {
		t.Fatalf("stats say %d of %d", accepted, before.Accepted)
	}
}

func must2[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return v
	}
}

func retentionKeys(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	for i := range 12 {
		w.Send([]string{"a@x.example"}, WithKey(fmt.Sprintf("k%02d", i), "f"))
	}
	for _, d := range w.LeaseN(6) {
		w.MustSettle(ledger.Settlement{ID: d.ID, Fence: d.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent})
	}
	purgeIn(t, ctx, w, w.PurgeRecords, 1000)
	item, known := w.Known("k00", "f")
	if !known || !item.Gone {
		t.Fatalf("a key outlives its message: %+v, %v", item, known)
	}
	sweep := func(before time.Time) int {
		t.Helper()
		removed := 0
		var at ledger.KeyMark
		for {
			n, next, done, err := w.PurgeKeys(ctx, before, at, 5)
			must(t, err)
			removed += n
			if done {
				return removed
			}
			at = next
		}
	}
	now, err := w.Now(ctx)
	must(t, err)
	if n := sweep(now.Add(-time.Hour)); n != 0 {
		t.Fatalf("removed %d young keys", n)
	}
	if n := sweep(now); n != 6 {
		t.Fatalf("removed %d keys, want the 6 whose messages are gone", n)
	}
	if _, known = w.Known("k11", "f"); !known {
		t.Fatal("the key of a message that waits is gone")
	}
	balanced(t, w)

	count := func() int {
		p, err := w.Audit(ctx, ledger.AuditFilter{}, ledger.Paging{Limit: 1, Total: true})
		must(t, err)
		return p.Total.N
	}
	lines := count()
	if n, err := w.PurgeAudit(ctx, now.Add(-time.Hour), 5); err != nil || n != 0 {
		t.Fatalf("young lines: %d, %v", n, err)
	}
	if n, err := w.PurgeAudit(ctx, now, 5); err != nil || n != 5 || count() != lines-5 {
		t.Fatalf("5 of %d lines: %d, %v", lines, n, err)
	}
}

func retentionLag(t *testing.T, open Opener, exec Exec) {
	w := NewWorld(t, open)
	ctx := t.Context()
	r := ledger.RetentionSettings{ContentDays: 1, RecordDays: 2, KeyDays: 90, AuditDays: 90}
	var keys []string
	w.oneOfEach(&keys)
	lag := func() string {
		t.Helper()
		got, err := w.Lag(ctx, r)
		must(t, err)
		return fmt.Sprint(got.Content.Round(time.Hour), got.Records.Round(time.Hour))
	}
	if got := lag(); got != "0s 0s" {
		t.Fatalf("young: %s", got)
	}
	for range 3 {
		w.yesterday(exec)
	}
	if got := lag(); got != "48h0m0s 24h0m0s" {
		t.Fatalf("three days old: %s", got)
	}
	purgeIn(t, ctx, w, w.PurgeContent, 100)
	if got := lag(); got != "0s 24h0m0s" {
		t.Fatalf("content purged: %s", got)
	}
	purgeIn(t, ctx, w, w.PurgeRecords, 100)
	if got := lag(); got != "0s 0s" {
		t.Fatalf("records purged: %s", got)
	}
}
