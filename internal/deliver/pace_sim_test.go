package deliver_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/deliver/health"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
)

// A profile's pace holds in any stretch of time, nothing is charged or lost
// while it is waited for, and the rate is used.
func TestSimPaceHolds(t *testing.T) {
	const deliveries = 3000
	const perMinute = 60
	simulate(t, func(c *postledger.ProfileConfig) { c.PacePerMinute = perMinute }, func(t *testing.T, s *sim) {
		ids := s.fill(deliveries, "a", ledgertest.WithLane(postledger.LaneBulk))
		began := time.Now()
		s.run()
		for len(s.kept()) < deliveries {
			after(time.Minute)
			if time.Since(began) > 2*time.Hour {
				t.Fatalf("%d of %d after %v", len(s.kept()), deliveries, time.Since(began))
			}
		}
		kept := s.kept()
		// At one moment at most what two seconds of idle time save and two
		// seconds ahead are allowed, rounded up (package pace).
		const ahead = 2*2*perMinute/60 + 1
		for i := range kept {
			for _, stretch := range []int{1, 10, 60, 500} {
				if i < stretch {
					continue
				}
				took := kept[i].At.Sub(kept[i-stretch].At)
				if least := time.Duration(stretch-ahead) * time.Minute / perMinute; took < least {
					t.Fatalf("%d recipients within %v, at the earliest %v", stretch+1, took, least)
				}
			}
		}
		if took, most := kept[len(kept)-1].At.Sub(kept[0].At), time.Duration(deliveries)*time.Minute/perMinute; took > most+most/100 {
			t.Errorf("took %v, the pace allows %v", took, most)
		}
		after(10 * time.Second) // the last settle
		if n := s.states(ids); n[postledger.StatusSent] != deliveries {
			t.Errorf("states %v", n)
		}
	})
}

// What waits under a paused profile does not expire by the clock, however
// long; only a caller's own deadline ends it, and while it waits too.
func TestSimAPauseOfThreeDays(t *testing.T) {
	simulate(t, func(c *postledger.ProfileConfig) { c.RetryHorizonSeconds = 3600 }, func(t *testing.T, s *sim) {
		must(t, s.PauseProfile(t.Context(), s.Profile.ID, "maintenance", "", s.audit("profile.pause")))
		ids := s.fill(200, "a")
		late := s.fill(20, "late", ledgertest.WithDeadline(time.Now().Add(5*time.Minute)))
		s.run()
		after(5*time.Minute - time.Second)
		if n := s.states(late); n[postledger.StatusQueued] != 20 {
			t.Errorf("before the deadline: %v", n)
		}
		after(3 * time.Second)
		for _, id := range late {
			if d := s.Row(id); d.Status != postledger.StatusFailed || d.Reason != postledger.ReasonExpired || d.Attempts != 0 {
				t.Errorf("past the deadline: %s/%s, attempt %d", d.Status, d.Reason, d.Attempts)
			}
		}
		// A living worker looks about once a second; most of the three days
		// nobody looks.
		after(10 * time.Minute)
		s.halt()
		after(72 * time.Hour)
		s.run()
		after(10 * time.Minute)
		if n := s.states(ids); n[postledger.StatusQueued] != 200 || len(s.kept()) != 0 {
			t.Errorf("after three days: %v, %d left", n, len(s.kept()))
		}
		must(t, s.ResumeProfile(t.Context(), s.Profile.ID, s.audit("profile.resume")))
		after(time.Minute)
		if n := s.states(ids); n[postledger.StatusSent] != 200 || len(s.kept()) != 200 {
			t.Errorf("after the resume: %v, %d left", n, len(s.kept()))
		}
	})
}

// A hop that cannot be reached for twenty minutes costs no attempt and is
// asked by the probes' schedule only; afterwards immediate mail goes first.
func TestSimAHopIsAwayForTwentyMinutes(t *testing.T) {
	const bulks, immediates = 300, 20
	simulate(t, func(c *postledger.ProfileConfig) {}, func(t *testing.T, s *sim) {
		began := time.Now()
		dials := 0
		s.dial = func() error {
			if time.Since(began) < 20*time.Minute {
				dials++
				return errors.New("connection refused")
			}
			return nil
		}
		ids := s.fill(bulks, "bulk", ledgertest.WithLane(postledger.LaneBulk))
		s.run()
		after(19 * time.Minute)
		ids = append(ids, s.fill(immediates, "now")...)
		h, _ := s.worker.Health(s.Profile.ID)
		if h.State != health.Down || h.NextProbe.IsZero() && !h.Probing {
			t.Errorf("health %+v", h)
		}
		after(3 * time.Minute)
		// Each connection may fail once before the first failure is known;
		// then probes after 5, 15, 35, 75 s and every minute.
		if most := s.Profile.Config.Connections + 4 + 20; dials > most {
			t.Errorf("%d dials in twenty minutes, want at most %d", dials, most)
		}
		for _, id := range ids {
			if d := s.Row(id); d.Status != postledger.StatusSent || d.Attempts != 1 {
				t.Fatalf("%s is %s/%s, attempt %d", d.Address, d.Status, d.Reason, d.Attempts)
			}
		}
		// Bulk has its own connections, so the lanes run beside each other:
		// immediate ends while bulk has only begun.
		left, before := immediates, 0
		for _, m := range s.kept() {
			if m.Recipients[0][0] == 'n' {
				left--
			} else if left > 0 {
				before++
			}
		}
		if before > bulks/4 {
			t.Errorf("%d bulk deliveries left before the last immediate one", before)
		}
	})
}

// What waits for its pace passes the gates when its turn comes.
func TestSimSuppressedWhileItWaits(t *testing.T) {
	simulate(t, func(c *postledger.ProfileConfig) { c.PacePerMinute = 30 }, func(t *testing.T, s *sim) {
		ids := s.fill(50, "a")
		s.run()
		after(10 * time.Second)
		must(t, s.PutSuppression(t.Context(), ledger.Suppression{
			AppID: s.App.ID, AddressFolded: "a49@x.example", Reason: "complaint", Source: "test",
		}, s.audit("suppression.put")))
		after(3 * time.Minute)
		n := s.states(ids)
		last := s.Row(ids[49])
		if n[postledger.StatusSent] != 49 || last.Status != postledger.StatusSuppressed || len(s.kept()) != 49 {
			t.Errorf("states %v, the last %s/%s", n, last.Status, last.Reason)
		}
	})
}

// A pause that Postledger decides by itself is recorded, however long the
// ledger refuses to.
func TestSimAPauseIsRecordedAtLast(t *testing.T) {
	simulate(t, func(c *postledger.ProfileConfig) {}, func(t *testing.T, s *sim) {
		ids := s.fill(5, "a")
		s.dial = func() error { return errMisconfigured }
		tries := 0
		s.run(func(c *deliver.Config) {
			record := c.Pause
			c.Pause = func(ctx context.Context, id postledger.ID, alarm string) error {
				if tries++; tries < 5 {
					return errors.New("away")
				}
				return record(ctx, id, alarm)
			}
		})
		after(20 * time.Second)
		p, err := s.ProfileByID(t.Context(), s.Profile.ID)
		if err != nil || p.PausedAt.IsZero() || p.Alarm == "" || tries != 5 {
			t.Errorf("paused %v, alarm %q, %d tries, %v", p.PausedAt, p.Alarm, tries, err)
		}
		s.dial = nil
		must(t, s.ResumeProfile(t.Context(), s.Profile.ID, s.audit("profile.resume")))
		after(20 * time.Second)
		if n := s.states(ids); n[postledger.StatusSent] != 5 {
			t.Errorf("after the resume: %v", n)
		}
		for _, id := range ids {
			if d := s.Row(id); d.Attempts != 1 {
				t.Errorf("attempt %d", d.Attempts)
			}
		}
	})
}

// B30 with its own figures: a hop that takes five messages a second and answers
// 454 to the rest gets all sixty, none of them fails, and none twice.
func TestSimAThrottlingHopGetsAll(t *testing.T) {
	const messages = 60
	simulate(t, func(*postledger.ProfileConfig) {}, func(t *testing.T, s *sim) {
		var mu sync.Mutex
		var taken []time.Time
		throttled := 0
		s.throttles = func() bool {
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			if n := len(taken); n >= 5 && now.Sub(taken[n-5]) < time.Second {
				throttled++
				return true
			}
			taken = append(taken, now)
			return false
		}
		ids := s.fill(messages, "a", ledgertest.WithLane(postledger.LaneBulk))
		began := time.Now()
		s.run()
		for len(s.kept()) < messages && time.Since(began) < 5*time.Minute {
			after(time.Second)
		}
		after(10 * time.Second) // the last settle
		for _, id := range ids {
			if d := s.Row(id); d.Status != postledger.StatusSent || d.Attempts != 1 {
				t.Errorf("%s is %s/%s, attempt %d", d.Address, d.Status, d.Reason, d.Attempts)
			}
		}
		if n := len(s.kept()); n != messages || throttled == 0 {
			t.Errorf("%d at the hop, %d times throttled", n, throttled)
		}
		mu.Lock()
		defer mu.Unlock()
		t.Logf("%d answers 454 for %d messages in %v", throttled, messages, taken[len(taken)-1].Sub(taken[0]))
	})
}
