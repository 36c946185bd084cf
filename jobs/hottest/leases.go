package hottest

import (
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// short is a lease that runs out while a test waits for it.
const short = 40 * time.Millisecond

func testLeases(t *testing.T, open Open) {
	t.Run("a lost job returns to the front, charged", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		list := s.entries(3)
		s.expect(jobs.Added, list...)
		lost := s.takeWith(jobs.Take{Max: 1, MaxSlow: 1, Lease: short})[0]
		if lost.Attempts != 0 {
			t.Fatalf("a new job has %d attempts", lost.Attempts)
		}
		var again *jobs.Held
		s.until("the lost job comes again", func() bool {
			again = s.taken()
			if again.ID == list[0].ID {
				return true
			}
			s.giveBack(true, jobs.Return{Held: again})
			return false
		})
		if again.Attempts != 1 || again.Token == lost.Token {
			t.Fatalf("taken again: %d attempts, token %d and before %d", again.Attempts, again.Token, lost.Token)
		}
		// The first worker was only slow. It has no say any more.
		s.extend(jobs.Lost, lost)
		s.ack(false, lost)
		s.giveBack(false, jobs.Return{Held: lost, Charge: true})
		s.extend(jobs.Kept, again)
		s.ack(true, again)
		s.takesAll(list[1:]...)
	})
	t.Run("an extended lease is kept", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		s.expect(jobs.Added, s.entry())
		held := s.takeWith(jobs.Take{Max: 1, MaxSlow: 1, Lease: 400 * time.Millisecond})[0]
		s.extend(jobs.Kept, held)
		if got := s.takeWith(jobs.Take{Max: 1, MaxSlow: 1, Lease: time.Minute, Wait: 600 * time.Millisecond}); len(got) != 0 {
			t.Fatalf("took the job of a lease that was extended: %+v", got[0])
		}
		s.ack(true, held)
		s.extend(jobs.Lost, held)
		s.ack(false, held)
		s.holds(0)
	})
	t.Run("every loss is charged", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		s.expect(jobs.Added, s.entry(func(e *jobs.Entry) { e.Attempts = 7 }))
		for want := 7; want < 10; want++ {
			var held []*jobs.Held
			s.until("it can be taken", func() bool {
				held = s.takeWith(jobs.Take{Max: 1, MaxSlow: 1, Lease: short, Wait: time.Second})
				return len(held) == 1
			})
			if held[0].Attempts != want {
				t.Fatalf("%d attempts, want %d", held[0].Attempts, want)
			}
		}
	})
	t.Run("bad requests", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		for name, take := range map[string]jobs.Take{
			"nothing":       {Lease: time.Second},
			"too many":      {Max: jobs.MaxTake + 1, Lease: time.Second},
			"more slow":     {Max: 1, MaxSlow: 2, Lease: time.Second},
			"no lease":      {Max: 1},
			"an hour's":     {Max: 1, Lease: time.Hour},
			"negative slow": {Max: 1, MaxSlow: -1, Lease: time.Second},
		} {
			if _, err := s.Take(s.ctx(), take); err == nil {
				t.Errorf("%s: took without an error", name)
			}
		}
	})
}
