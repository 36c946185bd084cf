package hottest

import (
	"slices"
	"testing"

	"github.com/postledger/postledger/jobs"
)

func testOrder(t *testing.T, open Open) {
	t.Run("first in, first out in each lane, fast first", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		slow1, fast1 := s.entries(120, slow), s.entries(120)
		slow2, fast2 := s.entries(30, slow), s.entries(30)
		for _, list := range [][]jobs.Entry{slow1, fast1, slow2, fast2} {
			s.expect(jobs.Added, list...)
		}
		s.holds(300)
		s.takesAll(slices.Concat(fast1, fast2, slow1, slow2)...)
		s.holds(0)
	})
	t.Run("slow jobs use their slots only", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		s.expect(jobs.Added, s.entries(10, slow)...)
		s.expect(jobs.Added, s.entries(3)...)
		lanes := func(held []*jobs.Held) (n [2]int) {
			for _, h := range held {
				if h.Lane == jobs.Slow {
					n[1]++
				} else {
					n[0]++
				}
			}
			return n
		}
		if got := lanes(s.take(8, 2)); got != [2]int{3, 2} {
			t.Fatalf("took %v of fast and slow, want 3 and 2", got)
		}
		if got := lanes(s.take(8, 0)); got != [2]int{} {
			t.Fatalf("took %v of fast and slow, want none", got)
		}
		if got := lanes(s.take(3, 3)); got != [2]int{0, 3} {
			t.Fatalf("took %v of fast and slow, want 0 and 3", got)
		}
	})
	t.Run("one id is one job", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		e := s.entry()
		s.expect(jobs.Added, e)
		s.expect(jobs.Duplicate, e)
		s.drain(jobs.Duplicate, e)
		two := s.entry()
		if got := s.add(two, two); got[0] != jobs.Added || got[1] != jobs.Duplicate {
			t.Fatalf("twice in one call: %v", got)
		}
		held := s.take(5, 5)
		s.expect(jobs.Duplicate, e)
		s.holds(2)
		s.ack(true, held...)
		s.expect(jobs.Added, e)
		s.takesAll(e)
	})
	t.Run("what it contains", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		list := s.entries(3)
		s.expect(jobs.Added, list[:2]...)
		first := s.take(1, 1)
		got, err := s.Contains(s.ctx(), ids(list))
		s.no(err)
		if !slices.Equal(got, []bool{true, true, false}) {
			t.Fatalf("contains %v", got)
		}
		s.ack(true, first...)
		got, err = s.Contains(s.ctx(), ids(list))
		s.no(err)
		if !slices.Equal(got, []bool{false, true, false}) {
			t.Fatalf("contains %v after the first was done", got)
		}
		got, err = s.Contains(s.ctx(), nil)
		if err != nil || len(got) != 0 {
			t.Fatalf("contains nothing: %v, %v", got, err)
		}
	})
	t.Run("a large list keeps its order", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		list := s.entries(2500)
		s.expect(jobs.Added, list...)
		s.takesAll(list...)
	})
}
