package ledgertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Exec runs one statement (with ? placeholders) on a ledger's database, to
// break what the ledger itself never would.
type Exec func(t *testing.T, l *ledger.Ledger, query string, args ...any)

// Books: they balance whatever goes on, and each kind of difference is found.
func Books(t *testing.T, open Opener, exec Exec) {
	t.Run("balance", func(t *testing.T) { booksBalance(t, open) })
	t.Run("balance under load", func(t *testing.T) { booksUnderLoad(t, open) })
	t.Run("find", func(t *testing.T) { booksFind(t, open, exec) })
	t.Run("blobs", func(t *testing.T) { booksBlobs(t, open, exec) })
}

// life does one random thing to the ledger, as its parts would do it.
func (w *World) life(ctx context.Context, rnd *rand.Rand) error {
	key := ledger.ClaimKey{Profile: w.Profile.ID, Lane: postledger.LaneImmediate, App: w.App.ID}
	switch n := rnd.IntN(10); {
	case n < 4:
		to := []string{"a@x.example", "b@x.example", "c@x.example"}[:1+rnd.IntN(3)]
		m := w.Message(to, WithKey(w.NewID().String(), "f"))
		if _, err := w.Accept(ctx, w.Request(m)); err != nil {
			return err
		}
		if rnd.IntN(4) == 0 {
			_, err := w.Cancel(ctx, []postledger.ID{m.Deliveries[0].ID}, postledger.ReasonCanceledByApp, "app")
			return err
		}
	case n < 9:
		c, err := w.Lease(ctx, w.Worker.ID, []ledger.Want{{Key: key, N: 3}})
		if err != nil {
			return err
		}
		for _, d := range c[0].Leased {
			s := ledger.Settlement{ID: d.ID, Fence: d.Fence, Mover: postledger.MoverWorker, Event: &ledger.Event{Kind: "outcome"}, Charged: true}
			switch rnd.IntN(8) {
			case 0:
				s.To, s.Reason = postledger.StatusFailed, postledger.ReasonRejectedRecipient
			case 1:
				s.To, s.Reason = postledger.StatusUnconfirmed, postledger.ReasonNoAnswer
			case 2:
				s.To, s.Reason = postledger.StatusQueued, postledger.ReasonDeferred
			case 3:
				continue // still on the wire
			case 4:
				s.To, s.Reason, s.Event = postledger.StatusSent, postledger.ReasonSandbox, nil
			case 5:
				if _, err := w.Cancel(ctx, []postledger.ID{d.ID}, postledger.ReasonCanceledByApp, "app"); err != nil {
					return err
				}
				s.To, s.Reason, s.Event = postledger.StatusQueued, postledger.ReasonReturned, nil
			default:
				s.To, s.Event = postledger.StatusSent, nil
			}
			if _, err := w.Settle(ctx, []ledger.Settlement{s}); err != nil {
				return err
			}
		}
	default:
		ids, err := w.Unconfirmed(ctx, postledger.ID{}, 2)
		if err != nil || len(ids) == 0 {
			return err
		}
		to := []postledger.Status{postledger.StatusSent, postledger.StatusQueued}[rnd.IntN(2)]
		_, err = w.Settle(ctx, []ledger.Settlement{{
			ID: ids[0], Fence: ledger.AnyFence, Mover: postledger.MoverOperator, To: to,
			Reason: postledger.ReasonResend, Event: &ledger.Event{Kind: "resend"},
		}})
		return err
	}
	return nil
}

func booksBalance(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	empty, err := w.Books(ctx, nil)
	must(t, err)
	if len(empty.Differences) != 0 || empty.Totals.Accepted != 0 || empty.At.IsZero() {
		t.Fatalf("empty books %+v", empty)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		must(t, w.life(ctx, rnd))
	}
	r, err := w.Books(ctx, nil)
	must(t, err)
	if len(r.Differences) != 0 || r.Totals.Accepted != r.Totals.Sum() {
		t.Fatalf("books %+v", r)
	}
	for _, s := range []postledger.Status{postledger.StatusSent, postledger.StatusFailed, postledger.StatusCanceled, postledger.StatusUnconfirmed} {
		if r.Totals.States[s] == 0 {
			t.Errorf("nothing is %s: %+v", s, r.Totals)
		}
	}
	if r.Totals.Sandbox == 0 {
		t.Errorf("no line for sandbox: %+v", r.Totals)
	}
}

// booksUnderLoad: 100 runs, each beside accepts, leases, settles, cancels and
// purges; none may find a difference.
func booksUnderLoad(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var done atomic.Int64
	for i := range 3 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(7, uint64(i)))
			for ; ctx.Err() == nil; done.Add(1) {
				if err := w.life(ctx, rnd); err != nil && ctx.Err() == nil {
					t.Errorf("work: %v", err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := w.purgeAll(ctx, 50); err != nil && ctx.Err() == nil {
				t.Errorf("purge: %v", err)
				return
			}
		}
	})
	for i := 0; i < 100 || done.Load() < 500; i++ {
		r, err := w.Books(t.Context(), nil)
		if err != nil {
			t.Errorf("run %d: %v", i, err)
			break
		}
		if len(r.Differences) != 0 || r.Totals.Accepted != r.Totals.Sum() {
			t.Errorf("run %d: %+v", i, r)
			break
		}
	}
	stop()
	wg.Wait()
	r, err := w.Books(t.Context(), nil)
	must(t, err)
	if r.Totals.Accepted < 50 || r.Totals.Removed == 0 {
		t.Fatalf("there was no load: %+v", r.Totals)
	}
}

// purgeAll purges whatever may be purged now.
func (w *World) purgeAll(ctx context.Context, limit int) error {
	now, err := w.Now(ctx)
	if err != nil {
		return err
	}
	for _, purge := range []func(context.Context, time.Time, postledger.ID, int) (ledger.Purged, error){w.PurgeContent, w.PurgeRecords} {
		var after postledger.ID
		for {
			p, err := purge(ctx, now, after, limit)
			if err != nil {
				return err
			}
			if p.Done {
				break
			}
			after = p.Next
		}
	}
	return nil
}

// booksFind breaks the books with one statement each.
func booksFind(t *testing.T, open Opener, exec Exec) {
	w := NewWorld(t, open)
	ctx := t.Context()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		must(t, w.life(ctx, rnd))
	}
	sent, _ := w.in(postledger.StatusSent)
	message := w.Row(sent).MessageID
	w.Send([]string{"b@x.example"}, WithKey("lost", "f"))
	if len(w.LeaseN(1)) == 0 {
		t.Fatal("nothing on the wire")
	}
	queued := w.Send([]string{"a@x.example"})[0]
	failed, err := w.Deliveries(ctx, ledger.Filter{App: w.App.ID, Statuses: []postledger.Status{postledger.StatusFailed}}, ledger.Paging{Limit: 1})
	must(t, err)
	bad := failed.Items[0].ID
	for _, c := range []struct {
		name, query string
		args        []any
		undo        string
		undoArgs    []any
		want        []string
	}{
		{
			"a delivery counted that is not there", `UPDATE accept_counts SET deliveries = deliveries + 1`, nil,
			`UPDATE accept_counts SET deliveries = deliveries - 1`, nil,
			[]string{ledger.DiffAccepted},
		},
		{
			"a message counted that is not there", `UPDATE accept_counts SET messages = messages + 1`, nil,
			`UPDATE accept_counts SET messages = messages - 1`, nil,
			[]string{ledger.DiffAcceptedMessages},
		},
		{
			"a settle counted twice", `UPDATE stats_hours SET n = n + 1 WHERE status = 'sent'`, nil,
			`UPDATE stats_hours SET n = n - 1 WHERE status = 'sent'`, nil,
			[]string{ledger.DiffSettled},
		},
		{
			"a state changed by hand", `UPDATE deliveries SET status = 'failed' WHERE id = ?`,
			[]any{sent},
			`UPDATE deliveries SET status = 'sent' WHERE id = ?`,
			[]any{sent},
			[]string{ledger.DiffEvents, ledger.DiffSettled},
		},
		{
			"a recipient too many", `UPDATE messages SET recipients = recipients + 1 WHERE id = ?`,
			[]any{message},
			`UPDATE messages SET recipients = recipients - 1 WHERE id = ?`,
			[]any{message},
			[]string{ledger.DiffRecipients},
		},
		{
			"a message settled too early", `UPDATE messages SET unsettled = 0, settled_at = 1 WHERE id = ?`,
			[]any{w.Row(queued).MessageID},
			`UPDATE messages SET unsettled = 1, settled_at = NULL WHERE id = ?`,
			[]any{w.Row(queued).MessageID},
			[]string{ledger.DiffRecipients},
		},
		{
			"a quota not charged", `UPDATE quotas SET used = used - 1`, nil,
			`UPDATE quotas SET used = used + 1`, nil,
			[]string{ledger.DiffQuota},
		},
		{
			"a quota's minute and sum not charged", `UPDATE quota_minutes SET n = n + 1`, nil,
			`UPDATE quota_minutes SET n = n - 1`, nil,
			[]string{ledger.DiffQuota},
		},
		{
			"a lease of a worker that ended", `UPDATE workers SET ended_at = 1`, nil,
			`UPDATE workers SET ended_at = NULL`, nil,
			[]string{ledger.DiffLease},
		},
		{
			"a queued row that is never due", `UPDATE deliveries SET due_at = NULL WHERE id = ?`,
			[]any{queued},
			`UPDATE deliveries SET due_at = 1 WHERE id = ?`,
			[]any{queued},
			[]string{ledger.DiffColumns},
		},
		{
			"a history's line changed", `UPDATE delivery_events SET to_status = 'queued' WHERE delivery_id = ? AND to_status = 'failed'`,
			[]any{bad},
			`UPDATE delivery_events SET to_status = 'failed' WHERE delivery_id = ? AND to_status = 'queued' AND fence = (SELECT fence FROM deliveries WHERE id = ?)`,
			[]any{bad, bad},
			[]string{ledger.DiffEvents},
		},
		{
			"a final line of a row that went on", `UPDATE deliveries SET fence = fence - 1 WHERE id = ?`,
			[]any{bad},
			`UPDATE deliveries SET fence = fence + 1 WHERE id = ?`,
			[]any{bad},
			[]string{ledger.DiffEvents},
		},
		{
			"content called purged", `UPDATE messages SET content_purged_at = 1 WHERE id = ?`,
			[]any{message},
			`UPDATE messages SET content_purged_at = NULL WHERE id = ?`,
			[]any{message},
			[]string{ledger.DiffContent},
		},
		{
			"a key of nothing", `UPDATE idempotency_keys SET message_id = app_id WHERE key = 'lost'`, nil,
			`DELETE FROM idempotency_keys WHERE key = 'lost'`, nil,
			[]string{ledger.DiffKeys},
		},
		{
			"a content lost", `DELETE FROM message_contents WHERE message_id = ?`,
			[]any{message},
			`INSERT INTO message_contents (message_id) VALUES (?)`,
			[]any{message},
			[]string{ledger.DiffContent},
		},
		{
			// The last: what it breaks is not put back.
			"a delivery lost", `DELETE FROM deliveries WHERE id = ?`,
			[]any{sent},
			"", nil,
			[]string{ledger.DiffAccepted, ledger.DiffRecipients, ledger.DiffQuota, ledger.DiffSettled},
		},
	} {
		exec(t, w.Ledger, c.query, c.args...)
		r, err := w.Books(ctx, nil)
		must(t, err)
		var got []string
		for _, d := range r.Differences {
			got = append(got, d.Kind)
			if d.Count == 0 || len(d.Samples) == 0 || len(d.Samples) > 10 {
				t.Errorf("%s: difference %+v", c.name, d)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: found %v, want %v\n%+v", c.name, got, c.want, r)
		}
		if c.undo == "" {
			continue
		}
		exec(t, w.Ledger, c.undo, c.undoArgs...)
		if r, err = w.Books(ctx, nil); err != nil || len(r.Differences) != 0 {
			t.Fatalf("%s, undone: %+v, %v", c.name, r.Differences, err)
		}
	}
}

// blobs is a store that a test fills.
type blobs map[string]time.Time

func (b blobs) list(_ context.Context, prefix, after string, limit int) ([]ledger.StoredBlob, error) {
	var out []ledger.StoredBlob
	for k, at := range b {
		if strings.HasPrefix(k, prefix) && k > after {
			out = append(out, ledger.StoredBlob{Key: k, Modified: at})
		}
	}
	slices.SortFunc(out, func(a, b ledger.StoredBlob) int { return strings.Compare(a.Key, b.Key) })
	return out[:min(limit, len(out))], nil
}

// withAttachments gives the message n attachments and notes their keys.
func withAttachments(n int, keys *[]string) Option {
	return func(m *ledger.NewMessage) {
		for i := range n {
			key := fmt.Sprintf("%s/%s/%d", m.Message.AppID, m.Message.ID, i)
			m.Content.Attachments = append(m.Content.Attachments, postledger.Attachment{Name: "a.pdf", ContentType: "application/pdf", Size: 3, Blob: key})
			*keys = append(*keys, key)
		}
	}
}

func booksBlobs(t *testing.T, open Opener, exec Exec) {
	w := NewWorld(t, open)
	ctx := t.Context()
	store := blobs{}
	var keys []string
	for range 3 {
		w.Send([]string{"a@x.example"}, withAttachments(3, &keys))
	}
	for _, k := range keys {
		store[k] = time.Now().Add(-90 * time.Hour)
	}
	kinds := func() string {
		t.Helper()
		r, err := w.Books(ctx, store.list)
		must(t, err)
		return fmt.Sprint(r.Differences)
	}
	if got := kinds(); got != "[]" {
		t.Fatalf("all there: %s", got)
	}
	young := fmt.Sprintf("%s/%s/0", w.App.ID, w.NewID())
	store[young] = time.Now().Add(-47 * time.Hour)
	if got := kinds(); got != "[]" {
		t.Fatalf("a young orphan: %s", got)
	}
	store[young] = time.Now().Add(-49 * time.Hour)
	if got, want := kinds(), fmt.Sprintf("[{%s 1 [%s]}]", ledger.DiffBlobOrphan, young); got != want {
		t.Fatalf("an old orphan: %s, want %s", got, want)
	}
	must(t, w.TrashBlobs(ctx, []string{young, keys[8]}, time.Now().Add(-time.Second)))
	if got := kinds(); got != "[]" {
		t.Fatalf("an orphan that is to be deleted: %s", got)
	}
	// What is still referred to is never deleted, whoever noted it.
	due, err := w.TrashDue(ctx, 10)
	must(t, err)
	if !slices.Equal(due, []string{young}) {
		t.Fatalf("due %v", due)
	}
	must(t, w.ForgetTrash(ctx, due))
	delete(store, young)
	delete(store, keys[4])
	if got, want := kinds(), fmt.Sprintf("[{%s 1 [%s]}]", ledger.DiffBlobLost, keys[4]); got != want {
		t.Fatalf("a lost one: %s, want %s", got, want)
	}
	exec(t, w.Ledger, `UPDATE message_contents SET attachments = ''`)
	r, err := w.Books(ctx, store.list)
	must(t, err)
	if len(r.Differences) != 1 || r.Differences[0].Kind != ledger.DiffBlobOrphan || r.Differences[0].Count != 8 {
		t.Fatalf("references lost: %+v", r.Differences)
	}
}
