package ledgertest

import (
	"context"
	"math/rand/v2"
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
		c, err := w.Lease(ctx, w.Worker.ID, ledger.Counts{}, []ledger.Want{{Key: key, N: 3}})
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
