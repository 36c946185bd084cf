package deliver_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// The process's clock is set an hour ahead, or back, and corrected within a
// minute, while mail with half an hour left waits for its pace and its retries:
// nothing expires, nothing is sent twice, no lease is lost and nothing is put
// off for an hour (invariants 4 and 5). On PostgreSQL the process's clock dates
// ids only; on SQLite it is the ledger's.
func TestSimAClockThatSteps(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { clockThatSteps(t, step) })
		})
	}
}

func clockThatSteps(t *testing.T, step time.Duration) {
	const deliveries = 150
	var off atomic.Int64
	s := newSim(t, func(t *testing.T) *ledger.Ledger {
		l, err := ledger.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{
			Now: ledger.SteadyClock(func() time.Time { return time.Now().Add(time.Duration(off.Load())) }),
		})
		must(t, err)
		t.Cleanup(func() { l.Close() })
		must(t, l.Migrate(t.Context()))
		return l
	}, func(c *postledger.ProfileConfig) { c.PacePerMinute = 60 })
	deadline := ledgertest.WithDeadline(time.Now().Add(30 * time.Minute))
	ids := s.fill(deliveries-10, "a", deadline)
	var retried []postledger.ID // the sandbox defers them whenever it sees them
	for i := range 10 {
		retried = append(retried, s.Send([]string{fmt.Sprintf("r%d+deferred@x.example", i)}, deadline)...)
	}
	s.run()
	after(20 * time.Second)
	off.Store(int64(step))
	after(50 * time.Second)
	during := s.fill(10, "b", deadline)
	off.Store(0)
	after(10 * time.Minute)
	for _, id := range retried {
		// After 1, 3 and 7 minutes, each a fifth sooner or later.
		if d := s.Row(id); d.Status != postledger.StatusQueued || d.Attempts < 3 || d.Attempts > 5 {
			t.Errorf("%s is %s/%s, attempt %d", d.Address, d.Status, d.Reason, d.Attempts)
		}
	}
	for _, id := range append(ids, during...) {
		d := s.Row(id)
		if d.Status != postledger.StatusSent || d.Attempts != 1 || d.Fence > 2 {
			t.Errorf("%s is %s/%s, attempt %d, fence %d", d.Address, d.Status, d.Reason, d.Attempts, d.Fence)
		}
		if made := time.Since(d.CreatedAt); made < 0 || made > 15*time.Minute {
			t.Errorf("%s was made %v ago", d.Address, made)
		}
	}
	kept := s.kept()
	if len(kept) != deliveries {
		t.Errorf("%d sent, want %d", len(kept), deliveries)
	}
	copies := map[string]int{}
	for _, m := range kept {
		copies[m.Recipients[0]]++
	}
	for to, n := range copies {
		if n != 1 {
			t.Errorf("%s has %d copies", to, n)
		}
	}
	s.balanced()
}

// Two processes whose clocks are 90 s ahead and 90 s behind share a ledger and
// a profile: what is accepted first leaves first, apps take turns, and nothing
// is sent twice.
func TestProcessesWhoseClocksDiffer(t *testing.T) {
	t.Parallel()
	url := database(t, "postgres")
	skewed := func(by time.Duration) func(*testing.T) *ledger.Ledger {
		return func(t *testing.T) *ledger.Ledger {
			l, err := ledger.Open(t.Context(), url, ledger.Options{
				Now: ledger.SteadyClock(func() time.Time { return time.Now().Add(by) }),
			})
			must(t, err)
			t.Cleanup(func() { l.Close() })
			return l
		}
	}
	openLedger(t, url) // migrates it
	ahead := newRig(t, skewed(90*time.Second), transporttest.HopConfig{}, func(c *postledger.ProfileConfig) { c.Connections = 2 })
	behindWorld := *ahead.World
	behindWorld.Ledger = skewed(-90 * time.Second)(t)
	behind := &rig{World: &behindWorld, t: t, hop: ahead.hop, dir: t.TempDir(), changed: make(chan struct{}, 1)}
	other := postledger.App{ID: ahead.NewID(), Name: "other-" + ahead.NewID().Token()}
	must(t, ahead.CreateApp(t.Context(), other, postledger.AuditEvent{ID: ahead.NewID(), Action: "app.create", Result: "done"}))

	// In turns by both processes, 20 rounds of 10; the first app's mail all
	// before the second's.
	const rounds, each = 20, 10
	var ids []postledger.ID
	round := map[string]int{}
	for _, app := range []postledger.App{ahead.App, other} {
		for i := range rounds {
			r := []*rig{ahead, behind}[i%2]
			first := r.App
			r.App = app
			prefix := fmt.Sprintf("%s-%d-", map[bool]string{true: "second", false: "first"}[app.ID == other.ID], i)
			ids = append(ids, r.batch(each, prefix, ledgertest.WithLane(postledger.LaneBulk))...)
			for n := range each {
				round[fmt.Sprintf("%s%d@x.example", prefix, n)] = i
			}
			r.App = first
		}
	}
	ahead.start()
	behind.start()
	for _, d := range ahead.settled(ids...) {
		if d.Status != postledger.StatusSent || d.Attempts != 1 || d.Fence != 1 {
			t.Errorf("%s/%s, attempt %d, fence %d", d.Status, d.Reason, d.Attempts, d.Fence)
		}
	}
	ahead.eachOnce(2 * rounds * each)
	inOrder(t, ahead, round, each)
	ahead.balanced()
}

// inOrder fails when something left although what was accepted several rounds
// before it, for the same app, had not: two processes may each hold a turn's
// worth. And both apps are served from the beginning.
func inOrder(t *testing.T, r *rig, round map[string]int, each int) {
	t.Helper()
	const ahead = 4 // rounds: two workers with 2 leases of 8 each, and what waits behind
	left := map[string]map[int]int{"f": {}, "s": {}}
	oldest := map[string]int{}
	firstOther := -1
	for i, a := range r.hop.Accepted() {
		to := a.Recipients[0]
		app, n := to[:1], round[to]
		if app == "s" && firstOther < 0 {
			firstOther = i
		}
		left[app][n]++
		for left[app][oldest[app]] == each {
			oldest[app]++
		}
		if n-oldest[app] > ahead {
			t.Errorf("%s left before all of round %d", to, oldest[app])
		}
	}
	if firstOther > 50 {
		t.Errorf("%d of one app left before the other's first", firstOther)
	}
}
