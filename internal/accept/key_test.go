package accept_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
)

// asked is a real ledger that counts what it is asked on the way of an accept.
type asked struct {
	accept.Ledger
	looks, accepts, policies, clocks atomic.Int64
}

func (a *asked) LookupKeys(ctx context.Context, app postledger.ID, keys, prints []string) (map[int]ledger.AcceptedItem, error) {
	a.looks.Add(1)
	return a.Ledger.LookupKeys(ctx, app, keys, prints)
}

func (a *asked) Accept(ctx context.Context, r *ledger.AcceptRequest) (ledger.Accepted, error) {
	a.accepts.Add(1)
	return a.Ledger.Accept(ctx, r)
}

func (a *asked) EffectivePolicy(ctx context.Context, app postledger.ID, profile string) (ledger.Effective, error) {
	a.policies.Add(1)
	return a.Ledger.EffectivePolicy(ctx, app, profile)
}

func (a *asked) Now(ctx context.Context) (time.Time, error) {
	a.clocks.Add(1)
	return a.Ledger.Now(ctx)
}

// A request that is nothing but rows costs its transaction: with the policy at
// hand nothing is asked before it, whether the key is new or known.
func TestAPlainRequestCostsOnlyItsTransaction(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		a := &asked{Ledger: w.ledger}
		at := time.Now()
		s := w.service(a, func(c *accept.Config) { c.Now = func() time.Time { return at } })
		_, err := s.Accept(t.Context(), w.caller, keyed("k-0"))
		must(t, err)
		equal(t, "policies", a.policies.Load(), 1)
		rec, err := s.Accept(t.Context(), w.caller, keyed("k-1"))
		must(t, err)
		replay, err := s.Accept(t.Context(), w.caller, keyed("k-1"))
		must(t, err)
		equal(t, "replayed", replay.Replayed && replay.MessageID == rec.MessageID, true)
		other := keyed("k-1")
		other.Subject = "Week 13"
		_, err = s.Accept(t.Context(), w.caller, other)
		refused(t, err, accept.CodeMismatch)
		equal(t, "accepts", a.accepts.Load(), 4)
		equal(t, "look-ups", a.looks.Load(), 0)
		equal(t, "policies", a.policies.Load(), 1)
		equal(t, "clocks", a.clocks.Load(), 0)
	})
}

// A replay takes nothing of the rate: a client that repeats what was accepted
// does not use up what its new messages may come at.
func TestAReplayIsFreeOfTheRate(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		w.reconfigure(func(c *postledger.ProfileConfig) { c.ImmediatePerMinute = 2 })
		at := time.Now()
		s := w.service(w.ledger, func(c *accept.Config) { c.Now = func() time.Time { return at } })
		_, err := s.Accept(t.Context(), w.caller, keyed("k-1"))
		must(t, err)
		for range 5 {
			rec, err := s.Accept(t.Context(), w.caller, keyed("k-1"))
			must(t, err)
			equal(t, "replayed", rec.Replayed, true)
		}
		_, err = s.Accept(t.Context(), w.caller, keyed("k-2"))
		must(t, err)
		_, err = s.Accept(t.Context(), w.caller, keyed("k-3"))
		refused(t, err, accept.CodeRate)
	})
}

// COMMIT without an answer, and the message is there: the caller is told that
// nobody knows, and its repetition gets the message that was named.
func TestAnUnknownFateIsTheRequestsOwn(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		s := w.service(&flaky{Ledger: w.ledger, lose: func(n int64) error {
			if n == 1 {
				return ledger.ErrFateUnknown
			}
			return nil
		}})
		_, err := s.Accept(t.Context(), w.caller, keyed("k"))
		var u *accept.UnavailableError
		if !errors.As(err, &u) || !u.FateUnknown || u.MessageID.IsZero() {
			t.Fatalf("got %v", err)
		}
		rec, err := s.Accept(t.Context(), w.caller, keyed("k"))
		must(t, err)
		equal(t, "message", rec.MessageID, u.MessageID)
		equal(t, "replayed", rec.Replayed, true)
	})
}
