package hottest

import (
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func testKeys(t *testing.T, open Open) {
	t.Run("the newest takes the place", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		before, after := s.entry(), s.entry()
		list := s.entries(3, key("k"))
		s.expect(jobs.Added, before, list[0], after)
		s.expect(jobs.Added, list[1], list[2])
		s.holds(3)
		s.takesAll(before, list[2], after)
	})
	t.Run("a key is a handler's", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		one, two := s.entry(key("k")), s.entry(key("k"), func(e *jobs.Entry) { e.Handler = "other" })
		three := s.entry(key("h"), func(e *jobs.Entry) { e.Handler = "kh" })
		s.expect(jobs.Added, one, two, three)
		s.takesAll(one, two, three)
	})
	t.Run("in another lane, or for another time", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		s.expect(jobs.Added, s.entry(key("k")))
		s.expect(jobs.Added, s.entry(key("k"), slow))
		other := s.entry(slow)
		s.expect(jobs.Added, other)
		s.expect(jobs.Added, s.entry(key("k"), after(30*time.Second)))
		if d := s.depth(); d.Jobs != 2 || d.Delayed != 1 || d.Fast.Jobs != 1 || d.Slow.Waiting != 1 || d.Fast.Waiting != 0 {
			t.Fatalf("holds %+v", d)
		}
		last := s.entry(key("k"))
		s.expect(jobs.Added, last)
		s.takesAll(last, other)
		s.holds(0)
	})
	t.Run("a run is superseded", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		s.expect(jobs.Added, s.entry(key("k")))
		old := s.taken()
		s.extend(jobs.Kept, old)
		newer := s.entry(key("k"))
		s.expect(jobs.Added, newer)
		s.extend(jobs.Superseded, old)
		run := s.taken()
		if run.ID != newer.ID || run.Superseded {
			t.Fatalf("took %+v, want the newer one", run)
		}
		s.extend(jobs.Kept, run)
		s.ack(true, old)
		s.extend(jobs.Kept, run)
		s.ack(true, run)
		s.holds(0)
	})
	t.Run("a superseded job that returns says so", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		s.expect(jobs.Added, s.entry(key("k")))
		old := s.taken()
		s.expect(jobs.Added, s.entry(key("k")))
		s.giveBack(true, jobs.Return{Held: old})
		again := s.taken()
		if again.ID != old.ID || !again.Superseded {
			t.Fatalf("took %+v, want the superseded one", again)
		}
		s.extend(jobs.Superseded, again)
		s.ack(true, again)
		if run := s.taken(); run.Superseded {
			t.Fatal("the newer one is superseded")
		}
		// And with a lease that runs out.
		third := s.entry(key("k"))
		s.expect(jobs.Added, third)
		lost := s.takeWith(jobs.Take{Max: 1, MaxSlow: 1, Lease: short})[0]
		s.expect(jobs.Added, s.entry(key("k")))
		s.until("the lost one comes again", func() bool {
			h := s.taken()
			if h.ID == lost.ID {
				again = h
				return true
			}
			s.giveBack(true, jobs.Return{Held: h})
			return false
		})
		if !again.Superseded || again.Attempts != 1 {
			t.Fatalf("took %+v, want it superseded and charged", again)
		}
	})
	t.Run("a job that returned can be replaced", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		s.expect(jobs.Added, s.entry(key("k")))
		s.giveBack(true, jobs.Return{Held: s.taken(), Delay: 30 * time.Second})
		newer := s.entry(key("k"))
		s.expect(jobs.Added, newer)
		s.takesAll(newer)
		s.holds(0)
	})
	t.Run("a durable job waits for the older one", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		old := s.entry(key("k"), durable)
		s.expect(jobs.Added, old)
		newer := s.entry(key("k"), durable)
		s.expect(jobs.Withheld, newer)
		s.drain(jobs.Withheld, newer)
		s.expect(jobs.Spilled, s.entry(key("k"))) // it has no row yet
		s.raised(fastLane, false)
		held := s.taken()
		if held.ID != old.ID || held.Superseded {
			t.Fatalf("took %+v, want the older one", held)
		}
		s.drain(jobs.Added, newer)
		s.extend(jobs.Superseded, held)
		s.ack(true, held)
		s.takesAll(newer)
	})
	t.Run("another revision of a job waits for it", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		old := s.entry(key("k"), durable)
		newer := old
		newer.Rev = 2
		s.drain(jobs.Added, old)
		s.drain(jobs.Withheld, newer)
		s.drain(jobs.Duplicate, old)
		held := s.taken()
		s.drain(jobs.Withheld, newer)
		s.extend(jobs.Superseded, held)
		s.ack(true, held)
		s.drain(jobs.Added, newer)
		if h := s.taken(); h.Rev != 2 {
			t.Fatalf("took revision %d", h.Rev)
		}
	})
	t.Run("what was not taken in supersedes nothing", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 2})
		s.expect(jobs.Added, s.entry(key("k")))
		held := s.taken()
		s.expect(jobs.Added, s.entry())
		s.expect(jobs.Spilled, s.entry(key("k")))
		s.drain(jobs.Full, s.entry(key("k")))
		s.extend(jobs.Kept, held)
	})
	t.Run("nothing of a key stays", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		for range 3 {
			s.expect(jobs.Added, s.entry(key("k")))
			s.expect(jobs.Added, s.entry(key("k")))
			s.ack(true, s.taken())
			s.holds(0)
		}
	})
}
