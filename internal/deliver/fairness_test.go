package deliver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// What waits behind a large backlog, and how long.
func TestNobodyWaitsForABacklog(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) { behindABacklog(t, open, 1500, 10, 10, 0) })
}

// 100,000 of one profile beside 200 profiles of 50, and ten that come later:
// of another profile and of another app on the same one they leave within a
// second of their acceptance, in the median of seven.
func TestNobodyWaitsForABacklogLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	onBoth(t, func(t *testing.T, open ledgertest.Opener) { behindABacklog(t, open, 100_000, 200, 50, time.Second) })
}

func behindABacklog(t *testing.T, open ledgertest.Opener, backlog, profiles, each int, within time.Duration) {
	r := newRig(t, open, transporttest.HopConfig{}, nil)
	// Nobody wakes the worker: to it, another process accepts all this.
	bulk := ledgertest.WithLane(postledger.LaneBulk)
	main, app := r.Profile, r.App
	other := r.newApp("other")
	r.batch(backlog, "big-", bulk)
	late := r.newProfile("late", r.hop, app)
	for i := range profiles {
		r.Profile = r.newProfile(fmt.Sprintf("small%d", i), r.hop, app)
		r.batch(each, fmt.Sprintf("small-%d-", i), bulk)
	}
	r.Profile = main
	r.start()
	// The ten come while the backlog is being sent.
	r.until("the backlog moves", func() bool { return len(r.hop.Accepted()) > backlog/20 })
	var waits []time.Duration
	times := 1
	if within > 0 {
		times = 7
	}
	for i := range times {
		began := time.Now()
		var ids []postledger.ID
		r.Profile = late
		ids = append(ids, r.batch(10, fmt.Sprintf("late-%d-", i), bulk)...)
		r.Profile, r.App = main, other
		ids = append(ids, r.batch(10, fmt.Sprintf("other-%d-", i), bulk)...)
		r.App = app
		r.worker.Reload()
		before := len(r.hop.Accepted())
		r.settled(ids...)
		waits = append(waits, time.Since(began))
		if n := len(r.hop.Accepted()) - before; within == 0 && n > backlog/2 {
			t.Errorf("%d left before twenty that came late, of a backlog of %d", n, backlog)
		}
	}
	slices.Sort(waits)
	if median := waits[len(waits)/2]; within > 0 && median > within {
		t.Errorf("ten deliveries waited %v behind a backlog, want %v", median, within)
	}
	t.Logf("waits %v", waits)
	smallSent := func() (big, small int) {
		for _, a := range r.hop.Accepted() {
			switch {
			case strings.HasPrefix(a.Recipients[0], "big-"):
				big++
			case strings.HasPrefix(a.Recipients[0], "small-"):
				small++
			}
		}
		return big, small
	}
	r.until("the small ones are sent", func() bool { _, n := smallSent(); return n == profiles*each })
	if big, _ := smallSent(); big > backlog*9/10 {
		t.Errorf("%d of %d of the backlog left before the last of the small ones", big, backlog)
	}
}

// Within one app, profile and lane the order is that of acceptance: a second
// batch follows the first, and does not push in. What may not wait is immediate,
// and does not.
func TestASecondBatchFollowsTheFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{}, nil)
		bulk := ledgertest.WithLane(postledger.LaneBulk)
		ids := r.batch(600, "first-", bulk)
		ids = append(ids, r.batch(100, "second-", bulk)...)
		r.batch(10, "now-")
		r.start()
		r.settled(ids...)
		secondBegan, late, lastOfNow := false, 0, 0
		for i, a := range r.hop.Accepted() {
			switch to := a.Recipients[0]; {
			case strings.HasPrefix(to, "first-") && secondBegan:
				late++
			case strings.HasPrefix(to, "second-"):
				secondBegan = true
			case strings.HasPrefix(to, "now-"):
				lastOfNow = i
			}
		}
		// What was leased together is sent beside each other; how many of the second
		// batch one that is on the wire lets pass is the machine's affair.
		if late > 2*r.Profile.Config.Connections {
			t.Errorf("the second batch began before %d of the first", late)
		}
		if lastOfNow > 300 {
			t.Errorf("%d of a batch left before ten immediate ones", lastOfNow)
		}
	})
}

// newApp makes another app.
func (r *rig) newApp(name string) postledger.App {
	r.t.Helper()
	a := postledger.App{ID: r.NewID(), Name: name + "-" + r.NewID().Token()}
	must(r.t, r.CreateApp(r.t.Context(), a, postledger.AuditEvent{ID: r.NewID(), Action: "app.create", Result: "done"}))
	return a
}

// newProfile makes another profile, to a hop, that the app may use beside the
// rig's own.
func (r *rig) newProfile(name string, hop *transporttest.Hop, app postledger.App) postledger.Profile {
	r.t.Helper()
	p := r.Profile
	p.ID, p.Name, p.IsDefault = postledger.ID{}, name+"-"+r.NewID().Token(), false
	p.Config.Settings, _ = json.Marshal(settings{hop.Port()})
	p, err := r.PutProfile(r.t.Context(), p, 0, postledger.AuditEvent{ID: r.NewID(), Action: "profile.put", Result: "done"})
	must(r.t, err)
	for _, profile := range []postledger.ID{p.ID, r.Profile.ID} {
		must(r.t, r.PutGrant(r.t.Context(), postledger.Grant{AppID: app.ID, ProfileID: profile},
			postledger.AuditEvent{ID: r.NewID(), Action: "grant.put", Result: "done"}))
	}
	return p
}
