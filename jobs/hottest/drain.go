package hottest

import (
	"slices"
	"testing"

	"github.com/postledger/postledger/jobs"
)

func testDrain(t *testing.T, open Open) {
	t.Run("it passes flags and raises none", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 10})
		s.no(s.Raise(s.ctx(), []jobs.Scope{fastLane}))
		got := s.do(jobs.Add{Entries: s.entries(12), Drain: true})
		s.expectAll(got[:10], jobs.Added)
		s.expectAll(got[10:], jobs.Full)
		s.clear(false, s.flag(fastLane))
		got = s.do(jobs.Add{Entries: s.entries(1, slow), Drain: true})
		s.expectAll(got, jobs.Full)
		s.raised(slowLane, false)
	})
	t.Run("a smaller job does not pass a larger one", func(t *testing.T) {
		large := func(e *jobs.Entry) { e.Payload = make([]byte, jobs.MaxPayload) }
		cost := func(e jobs.Entry) int64 { return e.HotCost() }
		probe := &set{TB: t}
		s := opened(t, open, jobs.Limits{Bytes: 3*cost(probe.entry(large)) + 3*cost(probe.entry())})
		got := s.do(jobs.Add{Drain: true, Entries: []jobs.Entry{s.entry(large), s.entry(large), s.entry(large), s.entry(large), s.entry()}})
		want := []jobs.Admission{jobs.Added, jobs.Added, jobs.Added, jobs.Full, jobs.Full}
		for n := range got {
			if got[n] != want[n] {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
	t.Run("a full lane does not stop the other", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 10, SlowShare: 0.5})
		entries := append(s.entries(6, slow), s.entries(2)...)
		got := s.do(jobs.Add{Drain: true, Entries: entries})
		s.expectAll(got[:5], jobs.Added)
		s.expectAll(got[5:6], jobs.Full)
		s.expectAll(got[6:], jobs.Added)
	})
	t.Run("order holds over a long list", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 1000, SlowShare: 1, GroupShare: 100})
		lists := [][]jobs.Entry{
			s.entries(150, group("a")), s.entries(600, slow), s.entries(10, group("a")), s.entries(400, slow), s.entries(10),
		}
		want := []jobs.Admission{jobs.Added, jobs.Withheld, jobs.Added, jobs.Withheld, jobs.Added, jobs.Full, jobs.Full}
		counts := []int{100, 50, 600, 10, 300, 100, 10}
		got := s.do(jobs.Add{Drain: true, Entries: slices.Concat(lists...)})
		for part, n := range counts {
			s.expectAll(got[:n], want[part])
			got = got[n:]
		}
		s.holds(1000)
	})
}
