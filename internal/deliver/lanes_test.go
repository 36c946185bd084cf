package deliver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// batch accepts n single-recipient messages of one app at once.
func (r *rig) batch(n int, prefix string, opts ...ledgertest.Option) []postledger.ID {
	r.t.Helper()
	ids := make([]postledger.ID, n)
	ms := make([]ledger.NewMessage, n)
	for i := range n {
		ms[i] = r.Message([]string{fmt.Sprintf("%s%d@x.example", prefix, i)}, opts...)
		ids[i] = ms[i].Deliveries[0].ID
	}
	for len(ms) > 0 {
		k := min(len(ms), 500)
		if _, err := r.Accept(r.t.Context(), r.Request(ms[:k]...)); err != nil {
			r.t.Fatal(err)
		}
		ms = ms[k:]
	}
	return ids
}

// Invariant 8: with thousands of bulk messages queued, and every connection
// that bulk may use held by the hop, an immediate one leaves at once.
func TestImmediateIsNeverBehindBulk(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		release := make(chan struct{})
		held := make(chan struct{}, 100)
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepRcpt, Contains: "bulk", Do: transporttest.Action{Hook: func() { held <- struct{}{} }, Hold: release}},
		}}, nil)
		r.batch(2000, "bulk", ledgertest.WithLane(postledger.LaneBulk))
		r.start()
		bulkConnections := r.Profile.Config.Connections - r.Profile.Config.ImmediateReserve()
		for range bulkConnections {
			<-held
		}
		for i := range 5 {
			r.settled(r.Send([]string{fmt.Sprintf("now%d@x.example", i)})...)
		}
		if n := len(r.copies()); n != 5 {
			t.Errorf("%d at the hop, want the five immediate ones", n)
		}
		select {
		case <-held:
			t.Error("bulk took a connection that is kept for immediate")
		default:
		}
		close(release)
	})
}

// Two apps on one profile take turns: ten messages do not wait for a thousand.
func TestAppsTakeTurns(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{}, nil)
		other := postledger.App{ID: r.NewID(), Name: "other-" + r.NewID().Token()}
		must(t, r.CreateApp(t.Context(), other, postledger.AuditEvent{ID: r.NewID(), Action: "app.create", Result: "done"}))
		r.batch(1000, "many", ledgertest.WithLane(postledger.LaneBulk))
		first := r.App
		r.App = other
		few := r.batch(10, "few", ledgertest.WithLane(postledger.LaneBulk))
		r.App = first
		r.start()
		for _, d := range r.settled(few...) {
			if d.Status != postledger.StatusSent {
				t.Errorf("%s/%s", d.Status, d.Reason)
			}
		}
		before, left := 0, 10
		for _, a := range r.hop.Accepted() {
			if strings.HasPrefix(a.Recipients[0], "few") {
				left--
			} else if left > 0 {
				before++
			}
		}
		if before > 100 {
			t.Errorf("%d of the other app's thousand left before the ten", before)
		}
	})
}

// fastLiveness makes a worker look at others often.
func fastLiveness(c *deliver.Config) {
	c.Heartbeat, c.StaleAfter, c.LostAfter = 50*time.Millisecond, 2*time.Second, 4*time.Second
	c.Recovery = 100 * time.Millisecond
}

// Workers that live share a profile's pace.
func TestWorkersShareAProfilesPace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		db     string
		others int
		pace   int
		want   float64
	}{
		{"sqlite", 1, 60, 60},
		{"postgres", 0, 60, 60},
		{"postgres", 2, 60, 20},
		{"postgres", 6, 3, 1},
		{"postgres", 2, 0, 0},
	} {
		t.Run(fmt.Sprintf("%s, %d others, %d a minute", c.db, c.others, c.pace), func(t *testing.T) {
			t.Parallel()
			url := database(t, c.db)
			r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, url) }, transporttest.HopConfig{},
				func(p *postledger.ProfileConfig) { p.PacePerMinute = c.pace })
			must(t, r.EndWorker(t.Context(), r.Worker.ID)) // the world's own
			r.tune = fastLiveness
			config := childConfig{Database: url}
			var others []*child
			for range c.others {
				config.JournalDir = t.TempDir() // another machine
				config.Heartbeat, config.StaleAfter, config.LostAfter = 50*time.Millisecond, 2*time.Second, 4*time.Second
				if c.db == "sqlite" {
					// Cannot live: its row is from a start that was killed.
					r.StartNewWorker()
					continue
				}
				others = append(others, startChild(t, config, ""))
			}
			w := r.start()
			rate := func(want float64) func() bool {
				return func() bool { got, ok := w.Rate(r.Profile.ID); return ok && got == want }
			}
			r.until(fmt.Sprintf("the rate is %v", c.want), rate(c.want))
			for i, o := range others {
				if i%2 == 0 {
					o.stop()
				} else {
					o.Kill()
				}
			}
			r.until("those that are gone have left their part", rate(float64(c.pace)))
			if _, ok := w.Rate(r.NewID()); ok {
				t.Error("an unknown profile has a rate")
			}
		})
	}
}
