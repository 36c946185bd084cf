package deliver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// crew is twenty profiles of one worker: nineteen go to the rig's hop, and one
// to a hop that hangs.
type crew struct {
	*rig
	stuck   postledger.Profile
	hanging *transporttest.Hop
	hung    chan struct{} // gets one for each connection that hangs
	others  []postledger.Profile
}

const crewOthers = 19

func newCrew(t *testing.T, open ledgertest.Opener, hop transporttest.HopConfig) *crew {
	t.Helper()
	c := &crew{rig: newRig(t, open, hop, nil), hung: make(chan struct{}, 100)}
	c.hanging = transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepMail, Do: transporttest.Action{Hook: func() { c.hung <- struct{}{} }, Hold: make(chan struct{})}},
	}})
	c.stuck = c.profile("hanging", c.hanging)
	for i := range crewOthers {
		c.others = append(c.others, c.profile(fmt.Sprintf("other%d", i), c.hop))
	}
	return c
}

// profile makes one that the app may use.
func (c *crew) profile(name string, hop *transporttest.Hop) postledger.Profile {
	c.t.Helper()
	p := c.Profile
	p.ID, p.Name, p.IsDefault = postledger.ID{}, name+"-"+c.NewID().Token(), false
	p.Config.Settings, _ = json.Marshal(settings{hop.Port()})
	p, err := c.PutProfile(c.t.Context(), p, 0, postledger.AuditEvent{ID: c.NewID(), Action: "profile.put", Result: "done"})
	must(c.t, err)
	must(c.t, c.PutGrant(c.t.Context(), postledger.Grant{AppID: c.App.ID, ProfileID: p.ID},
		postledger.AuditEvent{ID: c.NewID(), Action: "grant.put", Result: "done"}))
	return p
}

// fill accepts n messages a lane through each profile.
func (c *crew) fill(n int, lanes []postledger.Lane, profiles []postledger.Profile, opts ...ledgertest.Option) (ids []postledger.ID) {
	c.t.Helper()
	kept := c.Profile
	for i := range profiles {
		c.Profile = profiles[i]
		for _, l := range lanes {
			prefix := fmt.Sprintf("%s-%s-", profiles[i].Name, l)
			ids = append(ids, c.batch(n, prefix, append(opts, ledgertest.WithLane(l))...)...)
		}
	}
	c.Profile = kept
	return ids
}

// A hop that hangs holds its own profile's connections, leases and memory, and
// nobody else's: while it has all that it can get, the mail of nineteen other
// profiles leaves in both lanes.
func TestAHangingHopHoldsNobodyElse(t *testing.T) {
	// A lane has 4 MiB and a profile 2 MiB of it. A message counts fourfold.
	const budget = 8 << 20
	both := []postledger.Lane{postledger.LaneImmediate, postledger.LaneBulk}
	for name, c := range map[string]struct {
		size int64
		// hangs is how many of each lane are on the wire: of four connections,
		// bulk came first and left the one that is not for it; or of messages as
		// large as a profile's memory, one a lane.
		hangs map[postledger.Lane]int
	}{
		"all its connections": {10, map[postledger.Lane]int{postledger.LaneBulk: 3, postledger.LaneImmediate: 1}},
		"all its memory":      {1 << 20, map[postledger.Lane]int{postledger.LaneBulk: 1, postledger.LaneImmediate: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, open ledgertest.Opener) {
				r := newCrew(t, open, transporttest.HopConfig{})
				r.tune = func(dc *deliver.Config) { dc.MemoryBudget = budget }
				w := r.start()
				for _, l := range []postledger.Lane{postledger.LaneBulk, postledger.LaneImmediate} {
					r.fill(50, []postledger.Lane{l}, []postledger.Profile{r.stuck}, func(m *ledger.NewMessage) { m.Message.SizeBytes = c.size })
					for range c.hangs[l] {
						<-r.hung
					}
				}
				ids := r.fill(8, both, r.others)
				for _, d := range r.settled(ids...) {
					if d.Status != postledger.StatusSent || d.Attempts != 1 {
						t.Fatalf("%s/%s, attempt %d", d.Status, d.Reason, d.Attempts)
					}
				}
				r.eachOnce(len(ids))
				if n := len(r.hung); n != 0 {
					t.Errorf("%d more hang than may", n)
				}
				r.holds(w)
				r.hanging.Close() // or the stop would wait for it
			})
		})
	}
}

// holds checks that what is leased is the hanging profile's, and within its bound.
func (c *crew) holds(w *deliver.Worker) {
	c.t.Helper()
	leased, err := c.Leases(c.t.Context(), w.ID(), postledger.ID{}, 1000)
	must(c.t, err)
	n := map[postledger.Lane]int{}
	for _, l := range leased {
		if l.ProfileID != c.stuck.ID {
			c.t.Errorf("a delivery of another profile is leased to %s", l.Address)
		}
		n[l.Lane]++
	}
	config := c.stuck.Config
	// Twice the connections that a lane may use.
	most := map[postledger.Lane]int{
		postledger.LaneImmediate: 2 * config.Connections, postledger.LaneBulk: 2 * (config.Connections - config.ImmediateReserve()),
	}
	for lane, k := range most {
		if n[lane] == 0 || n[lane] > k {
			c.t.Errorf("%d are leased in lane %s, want 1 to %d", n[lane], lane, k)
		}
	}
	if k := c.hanging.Connections(); k > config.Connections {
		c.t.Errorf("%d connections to the hop that hangs, want at most %d", k, config.Connections)
	}
}

// The others lose no more than a tenth of their rate to a hop that hangs: the
// median over seven pairs of runs, with it and without it in turns.
func TestAHangingHopCostsOthersNoRateLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	const pairs = 7
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			open := func(t *testing.T) *ledger.Ledger { return openLedger(t, database(t, kind)) }
			var keeps []float64 // of the rate without it, one a pair
			for i := range pairs {
				took := map[bool]time.Duration{}
				for _, hangs := range []bool{i%2 == 0, i%2 != 0} {
					t.Run(fmt.Sprintf("pair %d, hangs %v", i+1, hangs), func(t *testing.T) {
						took[hangs] = timeOthers(t, open, hangs)
					})
				}
				if t.Failed() {
					return
				}
				keeps = append(keeps, float64(took[false])/float64(took[true]))
			}
			slices.Sort(keeps)
			t.Logf("beside a hop that hangs the others have %.3f of their rate (%.3f to %.3f)", keeps[pairs/2], keeps[0], keeps[pairs-1])
			if keeps[pairs/2] < 0.9 {
				t.Errorf("the others lose more than a tenth: %.3f", keeps)
			}
		})
	}
}

// timeOthers is how long the others need for their mail, once all of it has
// been accepted and their hop lets them in.
func timeOthers(t *testing.T, open ledgertest.Opener, hangs bool) time.Duration {
	t.Helper()
	const each = 300
	gate, done := make(chan struct{}), make(chan struct{})
	var taken atomic.Int64
	r := newCrew(t, open, transporttest.HopConfig{
		Rules: []transporttest.Rule{{At: transporttest.StepGreeting, Do: transporttest.Action{Hold: gate}}},
		OnAccept: func(transporttest.Acceptance) {
			if taken.Add(1) == crewOthers*each {
				close(done)
			}
		},
	})
	bulk := []postledger.Lane{postledger.LaneBulk}
	if hangs {
		r.fill(100, bulk, []postledger.Profile{r.stuck})
	}
	r.start()
	if hangs {
		for range r.stuck.Config.Connections - r.stuck.Config.ImmediateReserve() {
			<-r.hung
		}
	}
	r.fill(each, bulk, r.others)
	began := time.Now()
	close(gate)
	<-done
	took := time.Since(began)
	r.hanging.Close() // or the stop would wait for it
	return took
}
