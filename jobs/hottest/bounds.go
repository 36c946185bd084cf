package hottest

import (
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func direct(e *jobs.Entry) { e.Kind = jobs.Cron }
func bypass(e *jobs.Entry) { e.Bypass = true }

func testBounds(t *testing.T, open Open) {
	t.Run("jobs", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 10})
		got := s.add(s.entries(12)...)
		s.expectAll(got[:10], jobs.Added)
		s.expectAll(got[10:], jobs.Spilled)
		s.holds(10)
		s.raised(fastLane, true)
	})
	t.Run("waiting, active and delayed count", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 10})
		s.expect(jobs.Added, s.entries(4)...)
		held := s.take(4, 4)
		s.expect(jobs.Added, s.entries(3, after(30*time.Second))...)
		s.giveBack(true, jobs.Return{Held: held[0], Delay: 30 * time.Second})
		s.expect(jobs.Added, s.entries(3)...)
		d := s.depth()
		if d.Jobs != 10 || d.Active != 3 || d.Delayed != 4 || d.Fast.Waiting != 3 || d.Fast.Jobs != 10 || d.Slow.Jobs != 0 {
			t.Fatalf("holds %+v", d)
		}
		s.expect(jobs.Spilled, s.entry())
	})
	t.Run("bytes", func(t *testing.T) {
		large := func(e *jobs.Entry) { e.Payload = make([]byte, jobs.MaxPayload) }
		probe := (&set{TB: t}).entry(large)
		s := opened(t, open, jobs.Limits{Bytes: 4 * probe.HotCost()})
		got := s.add(s.entries(6, large)...)
		s.expectAll(got[:4], jobs.Added)
		s.expectAll(got[4:], jobs.Spilled)
		d := s.depth()
		if d.Bytes != 4*probe.HotCost() || d.Fast.Below {
			t.Fatalf("holds %+v, want %d bytes", d, 4*probe.HotCost())
		}
		// An answer is bounded in bytes.
		for held := s.take(4, 4); len(held) > 0; held = s.take(4, 4) {
			s.ack(true, held...)
		}
		if d := s.depth(); d.Bytes != 0 || d.Fast.Bytes != 0 || !d.Fast.Below {
			t.Fatalf("holds %+v, want nothing", d)
		}
	})
	t.Run("slow work leaves room for fast", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 10, SlowShare: 0.5})
		got := s.add(s.entries(8, slow)...)
		s.expectAll(got[:5], jobs.Added)
		s.expectAll(got[5:], jobs.Spilled)
		s.raised(slowLane, true)
		s.raised(fastLane, false)
		s.expect(jobs.Added, s.entries(5)...)
		s.expect(jobs.Spilled, s.entry())
		s.holds(10)
	})
	t.Run("what may not spill has a reserve", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 20})
		s.expect(jobs.Added, s.entries(20)...)
		s.expect(jobs.Spilled, s.entry())
		s.expect(jobs.Added, s.entry(direct), s.entry(bypass))
		s.expect(jobs.Full, s.entry(direct), s.entry(bypass), s.entry(func(e *jobs.Entry) { e.Kind = jobs.Trigger }))
		s.drain(jobs.Full, s.entry(bypass))
		s.holds(22)
	})
	t.Run("low water", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 10, SlowShare: 0.5, LowWater: 0.8})
		s.expect(jobs.Added, s.entries(4, slow)...)
		if d := s.depth(); !d.Fast.Below || d.Slow.Below {
			t.Fatalf("4 of 5 slow jobs: %+v", d)
		}
		s.expect(jobs.Added, s.entries(4)...)
		if d := s.depth(); d.Fast.Below || d.Slow.Below {
			t.Fatalf("8 of 10 jobs: %+v", d)
		}
		s.ack(true, s.take(1, 0)...)
		if d := s.depth(); !d.Fast.Below || d.Slow.Below {
			t.Fatalf("7 of 10 jobs, 4 of 5 slow: %+v", d)
		}
	})
	t.Run("a job that is due late is not kept for longer than the horizon", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		s.expect(jobs.Added, s.entry(direct, after(time.Hour)))
		if d := s.depth(); d.Delayed != 1 || len(s.take(1, 1)) != 0 {
			t.Fatalf("holds %+v", d)
		}
	})
}
