package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Accept: invariants 1 and 2, and case B24 (a key that races).
func Accept(t *testing.T, open Opener) {
	t.Run("writes a queued row for each recipient", func(t *testing.T) {
		w := NewWorld(t, open)
		ids := w.Send([]string{"a@x.example", "b@x.example"})
		for i, id := range ids {
			d := w.Row(id)
			if d.Status != postledger.StatusQueued || d.Position != i || d.Fence != 0 || d.DueAt.IsZero() || d.CreatedAt.IsZero() {
				t.Errorf("row %d: %+v", i, d)
			}
		}
		m := w.Row(ids[0]).MessageID
		loaded, err := w.LoadMessages(t.Context(), []postledger.ID{m}, 1<<20)
		must(t, err)
		l := loaded[m]
		if l.Content.Text != "hello" || l.Content.HTML != "<p>hello</p>" || len(l.Content.Headers) != 1 || len(l.Visible) != 2 || l.Visible[1].Address != "b@x.example" {
			t.Errorf("loaded %+v", l)
		}
		toSend, err := w.LoadToSend(t.Context(), []postledger.ID{m}, 1<<20)
		must(t, err)
		want := *l
		want.Message = postledger.Message{
			ID: m, Subject: l.Subject, HeaderMessageID: l.HeaderMessageID, SizeBytes: l.SizeBytes, Recipients: l.Recipients,
			SendAt: l.SendAt, CreatedAt: l.CreatedAt,
		}
		if l.Subject == "" || l.CreatedAt.IsZero() || !reflect.DeepEqual(*toSend[m], want) {
			t.Errorf("loaded to send %+v, want %+v", *toSend[m], want)
		}
	})

	t.Run("a large body is kept and read as it was", func(t *testing.T) {
		w := NewWorld(t, open)
		for name, c := range map[string]postledger.Content{
			"neither": {},
			"text":    {Text: strings.Repeat("é\u2028\\x", 300_000)},
			"html":    {HTML: strings.Repeat("<p>😀</p>\r\n", 200_000)},
			"both":    {Text: strings.Repeat("ab", 131_072), HTML: strings.Repeat("é", 400_001)},
		} {
			m := w.Message([]string{"a@x.example"})
			m.Content.Text, m.Content.HTML = c.Text, c.HTML
			m.Message.SizeBytes = int64(len(c.Text) + len(c.HTML))
			_, err := w.Accept(t.Context(), w.Request(m))
			must(t, err)
			loaded, err := w.LoadMessages(t.Context(), []postledger.ID{m.Message.ID}, 1<<40)
			must(t, err)
			l := loaded[m.Message.ID]
			if l.ContentMissing || l.ContentDeferred || l.Content.Text != c.Text || l.Content.HTML != c.HTML || len(l.Content.Headers) != 1 {
				t.Errorf("%s: missing %v, deferred %v, %d and %d bytes of %d and %d", name, l.ContentMissing, l.ContentDeferred,
					len(l.Content.Text), len(l.Content.HTML), len(c.Text), len(c.HTML))
			}
		}
	})

	t.Run("large requests that come together are all accepted", func(t *testing.T) {
		w := NewWorld(t, open)
		var wg sync.WaitGroup
		for i := range 12 {
			m := w.Message([]string{"a@x.example"}, WithKey(fmt.Sprintf("large-%d", i/2), "f"))
			if i%3 != 0 {
				m.Content.HTML = strings.Repeat("x", i*200_000)
			}
			m.Message.SizeBytes = int64(len(m.Content.HTML))
			wg.Go(func() {
				if _, err := w.Accept(t.Context(), w.Request(m)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range 6 {
			if _, known := w.Known(fmt.Sprintf("large-%d", i), "f"); !known {
				t.Errorf("request %d was not written", i)
			}
		}
	})

	t.Run("a repeated key is a replay that writes nothing", func(t *testing.T) {
		w := NewWorld(t, open)
		first := w.Message([]string{"a@x.example"}, WithKey("k-19", "f1"))
		got, err := w.Accept(t.Context(), w.Request(first))
		must(t, err)
		if got.Items[0].Replayed || got.Items[0].MessageID != first.Message.ID {
			t.Fatalf("first: %+v", got.Items[0])
		}
		got, err = w.Accept(t.Context(), w.Request(w.Message([]string{"a@x.example"}, WithKey("k-19", "f1"))))
		must(t, err)
		if !got.Items[0].Replayed || got.Items[0].MessageID != first.Message.ID {
			t.Fatalf("second: %+v", got.Items[0])
		}
		var mismatch *ledger.MismatchError
		if _, err = w.Accept(t.Context(), w.Request(w.Message([]string{"a@x.example"}, WithKey("k-19", "f2")))); !errors.As(err, &mismatch) {
			t.Fatalf("other body: %v", err)
		}
		item, known := w.Known("k-19", "f1")
		if !known || item.MessageID != first.Message.ID {
			t.Fatalf("lookup: %+v %v", item, known)
		}
	})

	t.Run("25 racers on one key are one message", func(t *testing.T) {
		w := NewWorld(t, open)
		var mu sync.Mutex
		ids := map[postledger.ID]int{}
		var wg sync.WaitGroup
		for range 25 {
			r := w.Request(w.Message([]string{"a@x.example"}, WithKey("race", "f")))
			wg.Go(func() {
				got, err := w.Accept(t.Context(), r)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ids[got.Items[0].MessageID]++
				mu.Unlock()
			})
		}
		wg.Wait()
		if len(ids) != 1 {
			t.Fatalf("got messages %v", ids)
		}
	})

	t.Run("a batch with one bad key writes nothing", func(t *testing.T) {
		w := NewWorld(t, open)
		_, err := w.Accept(t.Context(), w.Request(w.Message([]string{"a@x.example"}, WithKey("k", "f1"))))
		must(t, err)
		fresh := w.Message([]string{"b@x.example"}, WithKey("new", "f"))
		bad := w.Message([]string{"c@x.example"}, WithKey("k", "f2"))
		if _, err := w.Accept(t.Context(), w.Request(fresh, bad)); err == nil {
			t.Fatal("accepted a batch with a mismatch")
		}
		if _, ok, err := w.DeliveryByID(t.Context(), fresh.Deliveries[0].ID); err != nil || ok {
			t.Fatalf("row of a refused batch exists: %v %v", ok, err)
		}
		if item, known := w.Known("new", ""); known {
			t.Fatalf("key of a refused batch exists: %+v", item)
		}
	})

	t.Run("a batch mixes replays and new items", func(t *testing.T) {
		w := NewWorld(t, open)
		old := w.Message([]string{"a@x.example"}, WithKey("k", "f1"))
		_, err := w.Accept(t.Context(), w.Request(old))
		must(t, err)
		got, err := w.Accept(t.Context(), w.Request(w.Message([]string{"a@x.example"}, WithKey("k", "f1")), w.Message([]string{"b@x.example"})))
		must(t, err)
		if !got.Items[0].Replayed || got.Items[1].Replayed || got.Items[0].MessageID != old.Message.ID {
			t.Fatalf("items %+v", got.Items)
		}
	})

	t.Run("policy is checked again inside the transaction", func(t *testing.T) {
		w := NewWorld(t, open)
		r := w.Request(w.Message([]string{"a@x.example"}))
		r.Revision++
		if _, err := w.Accept(t.Context(), r); !errors.Is(err, ledger.ErrProfileChanged) {
			t.Errorf("other revision: %v", err)
		}
		r = w.Request(w.Message([]string{"a@x.example"}))
		r.ProfileID = w.NewID()
		if _, err := w.Accept(t.Context(), r); !errors.Is(err, ledger.ErrProfileGone) {
			t.Errorf("unknown profile: %v", err)
		}
		r = w.Request(w.Message([]string{"a@x.example"}))
		r.APIKeyID = w.NewID()
		if _, err := w.Accept(t.Context(), r); !errors.Is(err, ledger.ErrKeyRevoked) {
			t.Errorf("unknown key: %v", err)
		}
	})

	// Requests that share a transaction share nothing else: one that the
	// database refuses is tried alone, and so are those that came with it.
	t.Run("requests that come together are answered each by itself", func(t *testing.T) {
		w := NewWorld(t, open)
		old := w.Message([]string{"a@x.example"}, WithKey("old", "f"))
		_, err := w.Accept(t.Context(), w.Request(old))
		must(t, err)
		var wg sync.WaitGroup
		for i := range 60 {
			m := w.Message([]string{"a@x.example"}, WithKey(fmt.Sprint("new-", i), "f"))
			r := w.Request(m)
			kind := i % 5
			switch kind {
			case 0:
				r.Revision++
			case 1:
				r.Messages[0].Key = "old"
			case 2:
				r.Messages[0].Key, r.Messages[0].Fingerprint = "old", "other"
			case 3:
				r.Messages[0].Deliveries[0].ID = old.Deliveries[0].ID // which the database has
			}
			wg.Go(func() {
				got, err := w.Accept(context.WithoutCancel(t.Context()), r)
				var mismatch *ledger.MismatchError
				ok := false
				switch kind {
				case 0:
					ok = errors.Is(err, ledger.ErrProfileChanged)
				case 1:
					ok = err == nil && got.Items[0].Replayed && got.Items[0].MessageID == old.Message.ID
				case 2:
					ok = errors.As(err, &mismatch)
				case 3:
					ok = err != nil
				case 4:
					ok = err == nil && !got.Items[0].Replayed && got.Items[0].MessageID == m.Message.ID
				}
				if !ok {
					t.Errorf("request %d of kind %d: %+v, %v", i, kind, got, err)
				}
				item, known := w.Known(fmt.Sprint("new-", i), "f")
				if known != (kind == 4) || known && item.MessageID != m.Message.ID {
					t.Errorf("request %d of kind %d: its key is known: %v, for %s", i, kind, known, item.MessageID)
				}
			})
		}
		wg.Wait()
	})

	t.Run("send_at sets the due time", func(t *testing.T) {
		w := NewWorld(t, open)
		at := time.Now().Add(time.Hour).Truncate(time.Microsecond)
		id := w.Send([]string{"a@x.example"}, WithSendAt(at))[0]
		if got := w.Row(id).DueAt; !got.Equal(at) {
			t.Errorf("due at %v, want %v", got, at)
		}
	})
}

// Quota: invariant 7.
func Quota(t *testing.T, open Opener) {
	limited := func(w *World, n int64, ms ...ledger.NewMessage) *ledger.AcceptRequest {
		r := w.Request(ms...)
		r.Quota = &n
		return r
	}
	t.Run("exact under concurrency", func(t *testing.T) {
		w := NewWorld(t, open)
		var mu sync.Mutex
		accepted, refused := 0, 0
		var wg sync.WaitGroup
		for range 40 {
			r := limited(w, 25, w.Message([]string{"a@x.example"}))
			wg.Go(func() {
				_, err := w.Accept(t.Context(), r)
				var q *ledger.QuotaError
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					accepted++
				case errors.As(err, &q):
					refused++
					if q.Limit != 25 || q.Requested != 1 || q.ResetsAt.IsZero() {
						t.Errorf("quota error %+v", q)
					}
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if accepted != 25 || refused != 15 {
			t.Fatalf("accepted %d, refused %d", accepted, refused)
		}
	})
	t.Run("all or nothing for a batch", func(t *testing.T) {
		w := NewWorld(t, open)
		_, err := w.Accept(t.Context(), limited(w, 5, w.Message([]string{"a@x.example", "b@x.example", "c@x.example"})))
		must(t, err)
		batch := limited(w, 5, w.Message([]string{"a@x.example"}), w.Message([]string{"b@x.example", "c@x.example"}))
		var q *ledger.QuotaError
		if _, err = w.Accept(t.Context(), batch); !errors.As(err, &q) || q.Used != 3 {
			t.Fatalf("got %v", err)
		}
		_, err = w.Accept(t.Context(), limited(w, 5, w.Message([]string{"a@x.example", "b@x.example"})))
		must(t, err)
	})
	t.Run("a cancel gives back what was queued only", func(t *testing.T) {
		w := NewWorld(t, open)
		m := w.Message([]string{"a@x.example"})
		_, err := w.Accept(t.Context(), limited(w, 1, m))
		must(t, err)
		if _, err = w.Accept(t.Context(), limited(w, 1, w.Message([]string{"b@x.example"}))); err == nil {
			t.Fatal("over the quota")
		}
		done, err := w.Cancel(t.Context(), []postledger.ID{m.Deliveries[0].ID}, postledger.ReasonCanceledByApp, "test")
		must(t, err)
		if !done[0].Done {
			t.Fatalf("cancel: %+v", done)
		}
		m = w.Message([]string{"b@x.example"})
		_, err = w.Accept(t.Context(), limited(w, 1, m))
		must(t, err)
		l := w.LeaseN(1)
		done, err = w.Cancel(t.Context(), []postledger.ID{l[0].ID}, postledger.ReasonCanceledByApp, "test")
		must(t, err)
		if !done[0].Wished || done[0].Done {
			t.Fatalf("cancel on the wire: %+v", done)
		}
		if got := w.MustSettle(ledger.Settlement{ID: l[0].ID, Fence: l[0].Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent}); got.Status != postledger.StatusSent {
			t.Fatalf("the wire's outcome wins: %+v", got)
		}
		if _, err = w.Accept(t.Context(), limited(w, 1, w.Message([]string{"c@x.example"}))); err == nil {
			t.Fatal("what was on the wire stays charged")
		}
	})
}
