package hottest

import (
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func testReturns(t *testing.T, open Open) {
	t.Run("to the front in their order", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		list := s.entries(5)
		s.expect(jobs.Added, list...)
		held := s.take(3, 3)
		var returns []jobs.Return
		for _, h := range held {
			returns = append(returns, jobs.Return{Held: h})
		}
		s.giveBack(true, returns...)
		s.giveBack(false, returns...)
		if h := s.taken(); h.Attempts != 0 {
			t.Fatalf("returned without a charge: %d attempts", h.Attempts)
		} else {
			s.giveBack(true, jobs.Return{Held: h})
		}
		s.takesAll(list...)
	})
	t.Run("for later, charged", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		s.expect(jobs.Added, s.entry(slow))
		began := time.Now()
		s.giveBack(true, jobs.Return{Held: s.taken(), Delay: 150 * time.Millisecond, Charge: true})
		if d := s.depth(); d.Jobs != 1 || d.Delayed != 1 || d.Active != 0 || d.Slow.Waiting != 0 {
			t.Fatalf("holds %+v", d)
		}
		again := s.taken()
		if waited := time.Since(began); again.Attempts != 1 || again.Lane != jobs.Slow || waited < 140*time.Millisecond {
			t.Fatalf("%d attempts in lane %s after %v", again.Attempts, again.Lane, waited)
		}
		s.ack(true, again)
		s.holds(0)
	})
	t.Run("the earlier due comes first", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		first, second := s.entry(after(60*time.Millisecond)), s.entry(after(30*time.Millisecond))
		s.expect(jobs.Added, first, second)
		if got := s.taken(); got.ID != second.ID {
			t.Fatal("took the later one first")
		}
		if got := s.taken(); got.ID != first.ID {
			t.Fatal("took another than the first")
		}
	})
	t.Run("nothing", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		s.giveBack(true)
		s.ack(true)
		s.extend(jobs.Kept)
		if got := s.add(); len(got) != 0 {
			t.Fatalf("added nothing: %v", got)
		}
	})
}
