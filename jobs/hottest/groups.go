package hottest

import (
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func testGroups(t *testing.T, open Open) {
	scope := func(name string) jobs.Scope { return jobs.Scope{Lane: jobs.Fast, Group: name} }

	t.Run("a group has its share", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 20, GroupShare: 3})
		got := s.add(s.entries(5, group("a"))...)
		s.expectAll(got[:3], jobs.Added)
		s.expectAll(got[3:], jobs.Spilled)
		s.raised(scope("a"), true)
		s.raised(fastLane, false)
		// Others are not concerned.
		s.expect(jobs.Added, s.entry(), s.entry(group("b")))
	})
	t.Run("a fresh job does not overtake its group's rows", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 20, GroupShare: 2})
		first := s.entries(2, group("a"))
		rows := s.entries(2, group("a"))
		s.expect(jobs.Added, first...)
		s.expect(jobs.Spilled, rows...)
		s.takesAll(first...)
		s.expect(jobs.Spilled, s.entry(group("a")))
		s.drain(jobs.Added, rows...)
		s.clear(true, s.flag(scope("a")))
		s.drain(jobs.Withheld, s.entry(group("a")))
		s.takesAll(rows...)
		s.expect(jobs.Added, s.entry(group("a")))
	})
	t.Run("the drain passes a group that has its share", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 20, GroupShare: 2})
		a, b := s.entries(4, group("a")), s.entries(1, group("b"))
		got := s.do(jobs.Add{Drain: true, Entries: append(a, b...)})
		s.expectAll(got[:2], jobs.Added)
		s.expectAll(got[2:4], jobs.Withheld)
		s.expectAll(got[4:], jobs.Added)
	})
	t.Run("active and delayed jobs are of the share", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{GroupShare: 2})
		s.expect(jobs.Added, s.entries(2, group("a"))...)
		held := s.take(2, 2)
		s.giveBack(true, jobs.Return{Held: held[0], Delay: 30 * time.Second})
		s.drain(jobs.Withheld, s.entry(group("a")))
		s.ack(true, held[1])
		s.drain(jobs.Added, s.entry(group("a")))
	})
	t.Run("a group that is held", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		s.no(s.Hold(s.ctx(), "a", time.Now().Add(time.Hour)))
		s.drain(jobs.Withheld, s.entry(group("a")))
		s.expect(jobs.Spilled, s.entry(group("a")))
		s.drain(jobs.Added, s.entry(group("b")))
		s.no(s.Hold(s.ctx(), "a", time.Now().Add(-time.Second)))
		s.drain(jobs.Added, s.entry(group("a")))
		s.no(s.Hold(s.ctx(), "c", time.Now().Add(60*time.Millisecond)))
		s.drain(jobs.Withheld, s.entry(group("c")))
		s.until("the hold has ended", func() bool {
			return s.do(jobs.Add{Drain: true, Entries: s.entries(1, group("c"))})[0] == jobs.Added
		})
	})
	t.Run("a lane's flag goes and its groups' come up in one step", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 10, GroupShare: 2})
		s.expect(jobs.Added, s.entries(10)...)
		s.expect(jobs.Spilled, s.entry(group("a")))
		s.ack(true, s.take(10, 10)...)
		s.clear(true, s.flag(fastLane), scope("a"))
		s.expect(jobs.Spilled, s.entry(group("a")))
		s.expect(jobs.Added, s.entry(), s.entry(group("b")))
		s.clear(true, s.flag(scope("a")))
		s.expect(jobs.Added, s.entry(group("a")))
	})
	t.Run("a spill of a group keeps the lane's flag up", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 2})
		s.expect(jobs.Added, s.entries(2)...)
		s.expect(jobs.Spilled, s.entry())
		s.ack(true, s.take(2, 2)...)
		read := s.flag(fastLane)
		s.expectAll(s.do(jobs.Add{Entries: s.entries(1, group("a")), Spill: jobs.SpillID{1}}), jobs.Spilled)
		s.clear(false, read)
		s.clear(false, s.flag(fastLane))
		s.no(s.Settle(s.ctx(), []jobs.SpillID{{1}}))
		s.clear(true, s.flag(fastLane))
	})
}
