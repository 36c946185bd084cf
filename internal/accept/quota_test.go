package accept_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/testserver"
)

// twoProcesses is one PostgreSQL database under two ledgers, with a quota.
func twoProcesses(t *testing.T, quota int64) (*world, []*accept.Service) {
	t.Helper()
	w := newWorld(t, testserver.Postgres(t))
	w.reconfigure(func(c *postledger.ProfileConfig) { c.QuotaPerDay = &quota })
	return w, []*accept.Service{w.Service, w.service(openLedger(t, w.url))}
}

// counts sorts the answers of parallel requests, and fails on any that is
// neither success nor a refusal by quota.
type counts struct {
	mu                sync.Mutex
	accepted, refused int
	resets            time.Time
}

func (c *counts) add(t *testing.T, n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var q *accept.QuotaError
	switch {
	case err == nil:
		c.accepted += n
	case errors.As(err, &q):
		c.refused += n
		c.resets = q.ResetsAt
	default:
		t.Errorf("unexpected: %v", err)
	}
}

// Invariant 7, case B55: 99 of 100 are used; of 40 parallel requests over two
// processes one is accepted, and a batch of five is refused as a whole.
func TestTheLastOneOfAQuota(t *testing.T) {
	t.Parallel()
	w, services := twoProcesses(t, 100)
	for _, n := range []int{50, 49} {
		r := good()
		r.To = crowd(n)
		w.accepted(r)
	}
	var c counts
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			_, err := services[i%2].Accept(t.Context(), w.caller, good())
			c.add(t, 1, err)
		})
	}
	wg.Wait()
	equal(t, "accepted", c.accepted, 1)
	equal(t, "refused", c.refused, 39)
	if in := time.Until(c.resets); in < 23*time.Hour || in > 25*time.Hour {
		t.Errorf("resets in %s", in)
	}
	b := w.NewBatch(w.caller, accept.BatchHead{})
	defer b.Discard()
	for range 5 {
		must(t, b.Add(t.Context(), good()))
	}
	_, err := b.Commit(t.Context())
	refused(t, err, accept.CodeQuota)
	equal(t, "deliveries", w.rows()["deliveries"], 100)
	equal(t, "messages", w.rows()["messages"], 3)
	used := w.ledger.CheckQuota(t.Context(), w.caller.App, w.profile.ID, new(int64), 0)
	var q interface{ Error() string } = used
	equal(t, "counter", q.Error(), "quota exceeded: 100 of 0 used, 0 requested")
}

// Ten clients submit 200 messages each against 1,000, over two processes.
func TestAQuotaUnderLoad(t *testing.T) {
	t.Parallel()
	w, services := twoProcesses(t, 1000)
	var c counts
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			for range 200 {
				_, err := services[i%2].Accept(t.Context(), w.caller, good())
				c.add(t, 1, err)
			}
		})
	}
	wg.Wait()
	equal(t, "accepted", c.accepted, 1000)
	equal(t, "refused", c.refused, 1000)
	equal(t, "deliveries", w.rows()["deliveries"], 1000)
	equal(t, "lines of audit", len(w.audits()), 1000)
}

// An app over its quota is refused without holding up the others it shares a
// commit with.
func TestQuotasOfTwoAppsInOneCommit(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		ten := int64(10)
		poor := accept.Caller{App: w.app("poor")}
		w.grant(postledger.Grant{AppID: poor.App, ProfileID: w.profile.ID, Quota: &ten})
		var few, many counts
		var wg sync.WaitGroup
		for range 60 {
			wg.Go(func() {
				_, err := w.Accept(t.Context(), w.caller, good())
				many.add(t, 1, err)
			})
			wg.Go(func() {
				r := good()
				r.To = crowd(2)
				_, err := w.Accept(t.Context(), poor, r)
				few.add(t, 2, err)
			})
		}
		wg.Wait()
		equal(t, "the poor app's", few.accepted, 10)
		equal(t, "refused", few.refused, 110)
		equal(t, "the other's", many.accepted, 60)
		if in := time.Until(few.resets); in < 23*time.Hour || in > 25*time.Hour {
			t.Errorf("resets in %s", in)
		}
		equal(t, "deliveries", w.rows()["deliveries"], 70)
	})
}
