package hottest

import (
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func testFlags(t *testing.T, open Open) {
	t.Run("a fresh job does not overtake those that spilled", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 10})
		s.expect(jobs.Added, s.entries(10)...)
		rows := s.entries(2)
		s.expect(jobs.Spilled, rows...)
		s.ack(true, s.take(10, 10)...)
		// There is room, but the rows wait.
		s.expect(jobs.Spilled, s.entry())
		s.expect(jobs.Added, s.entry(slow)) // another lane
		s.drain(jobs.Added, rows...)
		s.clear(true, s.flag(fastLane))
		s.expect(jobs.Added, s.entry())
	})
	t.Run("a flag keeps its first start", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 2})
		before := time.Now().Add(-time.Second)
		s.expect(jobs.Added, s.entries(2)...)
		s.expect(jobs.Spilled, s.entry())
		first := s.raised(fastLane, true)
		s.expect(jobs.Spilled, s.entry())
		s.no(s.Raise(s.ctx(), []jobs.Scope{fastLane, slowLane}))
		s.no(s.Renew(s.ctx(), []jobs.Flag{first}))
		again := s.raised(fastLane, true)
		if !again.Since.Equal(first.Since) || again.Number != first.Number || first.Since.Before(before) || first.Since.After(time.Now().Add(time.Second)) {
			t.Fatalf("first %+v, then %+v", first, again)
		}
		if again.Spills != 2 {
			t.Fatalf("%+v counts %d spills, want 2", again, again.Spills)
		}
		if other := s.raised(slowLane, true); other.Number == first.Number {
			t.Fatalf("two flags with the number %d", other.Number)
		}
	})
	t.Run("a flag goes by itself when nobody renews it", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{FlagLife: 30 * time.Millisecond})
		s.no(s.Raise(s.ctx(), []jobs.Scope{fastLane}))
		first := s.raised(fastLane, true)
		s.until("the flag has expired", func() bool { return s.flag(fastLane).Number == 0 })
		s.expect(jobs.Added, s.entry())
		// Late renewals and clears of what has gone do nothing.
		s.no(s.Renew(s.ctx(), []jobs.Flag{first}))
		s.raised(fastLane, false)
		s.clear(true, first)
	})
	t.Run("a renewed flag lives on", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{FlagLife: 300 * time.Millisecond})
		s.no(s.Raise(s.ctx(), []jobs.Scope{fastLane}))
		f := s.raised(fastLane, true)
		end := time.Now().Add(700 * time.Millisecond)
		s.until("more than two lives have passed", func() bool {
			s.no(s.Renew(s.ctx(), []jobs.Flag{f}))
			s.raised(fastLane, true)
			return time.Now().After(end)
		})
	})
	t.Run("a renewal does not touch the next flag", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{FlagLife: time.Second})
		s.no(s.Raise(s.ctx(), []jobs.Scope{fastLane}))
		old := s.raised(fastLane, true)
		s.clear(true, old)
		s.no(s.Renew(s.ctx(), []jobs.Flag{old}))
		s.raised(fastLane, false)
		s.no(s.Raise(s.ctx(), []jobs.Scope{fastLane}))
		s.clear(false, old)
		s.until("the second flag has expired although the first was renewed", func() bool {
			s.no(s.Renew(s.ctx(), []jobs.Flag{old}))
			return s.flag(fastLane).Number == 0
		})
	})
	t.Run("it is not cleared while a row may come", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 2})
		s.expect(jobs.Added, s.entries(2)...)
		spill := jobs.SpillID{1}
		s.expectAll(s.do(jobs.Add{Entries: s.entries(3), Spill: spill}), jobs.Spilled)
		s.ack(true, s.take(2, 2)...)
		f := s.flag(fastLane)
		if f.Pending != 1 {
			t.Fatalf("%+v, want one spill pending", f)
		}
		s.clear(false, f)
		s.no(s.Settle(s.ctx(), []jobs.SpillID{spill, {9}}))
		// Who read the flag while a spill was pending may have missed its row.
		s.clear(false, f)
		f = s.flag(fastLane)
		if f.Pending != 0 {
			t.Fatalf("%+v, want none pending", f)
		}
		// Another spill begins and ends after the flag was read.
		s.expectAll(s.do(jobs.Add{Entries: s.entries(1), Spill: jobs.SpillID{2}}), jobs.Spilled)
		s.no(s.Settle(s.ctx(), []jobs.SpillID{{2}}))
		s.clear(false, f)
		s.clear(true, s.flag(fastLane))
		s.raised(fastLane, false)
	})
	t.Run("a producer that died is not waited for", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 2, FlagLife: 50 * time.Millisecond})
		s.expect(jobs.Added, s.entries(2)...)
		s.expectAll(s.do(jobs.Add{Entries: s.entries(1), Spill: jobs.SpillID{1}}), jobs.Spilled)
		s.ack(true, s.take(2, 2)...)
		s.until("the spill is not pending", func() bool {
			s.no(s.Raise(s.ctx(), []jobs.Scope{fastLane}))
			return s.flag(fastLane).Pending == 0
		})
		s.clear(true, s.flag(fastLane))
	})
	t.Run("it is not cleared above low water", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 10})
		s.expect(jobs.Added, s.entries(10)...)
		s.expect(jobs.Spilled, s.entry())
		s.ack(true, s.take(2, 2)...)
		s.clear(false, s.flag(fastLane))
		s.ack(true, s.take(1, 1)...)
		s.clear(true, s.flag(fastLane))
	})
	t.Run("a producer that wrote rows blindly raises first", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		got := s.do(jobs.Add{Entries: []jobs.Entry{s.entry(), s.entry(slow)}, Raise: []jobs.Scope{fastLane}})
		if got[0] != jobs.Spilled || got[1] != jobs.Added {
			t.Fatalf("%v, want the fast one to spill", got)
		}
	})
	t.Run("a duplicate is no spill", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		e := s.entry()
		s.expect(jobs.Added, e)
		s.no(s.Raise(s.ctx(), []jobs.Scope{fastLane}))
		s.expect(jobs.Duplicate, e)
		// Also behind many that spill.
		got := s.add(append(s.entries(1200), e)...)
		s.expectAll(got[:1200], jobs.Spilled)
		s.expectAll(got[1200:], jobs.Duplicate)
	})
	t.Run("the epoch is one", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		first, err := s.Epoch(s.ctx())
		s.no(err)
		again, err := s.Epoch(s.ctx())
		if err != nil || first == "" || first != again {
			t.Fatalf("epochs %q and %q, %v", first, again, err)
		}
	})
}
