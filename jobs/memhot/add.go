package memhot

import (
	"bytes"
	"context"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Add is jobs.Hot's.
func (s *Set) Add(ctx context.Context, add jobs.Add) ([]jobs.Admission, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]jobs.Admission, len(add.Entries))
	if err := s.usable(ctx); err != nil {
		return out, err
	}
	now := time.Now()
	s.expireFlags(now)
	s.raise(now, add.Raise)
	stopped := map[jobs.Scope]bool{} // for the drain: order is kept within its call
	ready := false
	for n := range add.Entries {
		e := &add.Entries[n]
		if e.Lane != jobs.Slow {
			e.Lane = jobs.Fast
		}
		verdict, when := s.admit(e, add.Drain, stopped, now)
		out[n] = verdict
		switch verdict {
		case jobs.Added:
			ready = s.put(e, when, now) || ready
		case jobs.Spilled:
			s.spill(e.Scope(), add.Spill, now)
		}
		if e.DedupeKey != "" && (verdict == jobs.Added || verdict == jobs.Withheld) {
			s.supersede(e)
		}
	}
	if ready {
		s.wake()
	}
	return out, nil
}

// admit decides without changing anything but the flags.
func (s *Set) admit(e *jobs.Entry, drain bool, stopped map[jobs.Scope]bool, now time.Time) (jobs.Admission, time.Time) {
	// Without a row of its own a job gets one, to wait there.
	behind := jobs.Spilled
	if drain || e.Durable {
		behind = jobs.Withheld
	}
	if known := s.items[e.ID]; known != nil {
		if known.Rev == e.Rev {
			return jobs.Duplicate, now
		}
		return behind, now
	}
	if e.DedupeKey != "" {
		if k := s.keys[keyOf(e)]; k != nil && k.waits != nil && (k.waits.Durable || e.Durable) {
			return behind, now
		}
	}
	cost, lane := e.HotCost(), jobs.Scope{Lane: e.Lane}
	if !jobs.Spills(e.Kind, e.Bypass) {
		if s.jobs+1 > s.limits.ReserveJobs() || s.bytes+cost > s.limits.ReserveBytes() {
			return jobs.Full, now
		}
		return jobs.Added, e.RunAt
	}
	fits := s.limits.Fits(e.Lane, cost, s.jobs, s.bytes, *s.lanes[jobs.Slow])
	share := e.Group == "" || s.groups[e.Group] < s.limits.GroupShare && !s.held[e.Group].After(now)
	if drain {
		switch {
		case stopped[lane] || !fits:
			stopped[lane] = true
			return jobs.Full, now
		case stopped[e.Scope()] || !share:
			stopped[e.Scope()] = true
			return jobs.Withheld, now
		}
		return jobs.Added, e.RunAt
	}
	switch {
	case s.flags[lane] != nil || s.flags[e.Scope()] != nil:
		return jobs.Spilled, now
	case !fits:
		s.raise(now, []jobs.Scope{lane})
		return jobs.Spilled, now
	case !share:
		s.raise(now, []jobs.Scope{e.Scope()})
		return jobs.Spilled, now
	}
	return jobs.Added, e.RunAt
}

// put adds a job that is admitted. It tells whether somebody may take it now.
func (s *Set) put(e *jobs.Entry, when, now time.Time) bool {
	i := &item{Entry: *e, cost: e.HotCost()}
	i.Payload = bytes.Clone(e.Payload)
	at := now
	if when.After(now) {
		// A clock that jumped does not keep a job for longer than it may wait here.
		at = now.Add(min(when.Sub(now), jobs.HotHorizon))
	}
	if e.DedupeKey != "" {
		k := s.keyed(e)
		older := k.waits
		k.waits = i
		if older != nil && s.replace(older, i, at.After(now)) {
			return false
		}
	}
	s.insert(i)
	if at.After(now) {
		s.delay(i, at)
		return false
	}
	s.enter(i, false)
	return true
}

// replace removes a job that waits, for a newer one with its key. It tells whether
// the newer one has its place now, which it has when both wait in one lane.
func (s *Set) replace(older, newer *item, later bool) bool {
	s.remove(older)
	switch {
	case older.state == delayed:
		s.delayed.remove(older)
		return false
	case older.Lane != newer.Lane || later:
		s.waiting[older.Lane].vacate(older.slot)
		return false
	}
	newer.state, newer.slot = waiting, older.slot
	newer.slot.item = newer
	s.insert(newer)
	return true
}

// delay lets a job wait for a moment.
func (s *Set) delay(i *item, until time.Time) {
	i.state, i.slot = delayed, nil
	s.delayed.add(i, until)
	s.wake() // for a Take that waits for a later moment
}

// enter lets a job wait in its lane.
func (s *Set) enter(i *item, front bool) {
	i.state = waiting
	i.slot = &slot{item: i}
	line := s.waiting[i.Lane]
	if front {
		line.pushFront(i.slot)
	} else {
		line.pushBack(i.slot)
	}
}

// supersede marks the runs of older jobs with the key.
func (s *Set) supersede(e *jobs.Entry) {
	if k := s.keys[keyOf(e)]; k != nil {
		for run := range k.runs {
			if run.Ref() != e.Ref() {
				run.superseded = true
			}
		}
	}
}

func keyOf(e *jobs.Entry) key { return key{handler: e.Handler, dedupe: e.DedupeKey} }

func (s *Set) keyed(e *jobs.Entry) *keyed {
	k := s.keys[keyOf(e)]
	if k == nil {
		k = &keyed{runs: map[*item]struct{}{}}
		s.keys[keyOf(e)] = k
	}
	return k
}

func (s *Set) unkey(e *jobs.Entry) {
	if k := s.keys[keyOf(e)]; k != nil && k.waits == nil && len(k.runs) == 0 {
		delete(s.keys, keyOf(e))
	}
}

func (s *Set) usable(ctx context.Context) error {
	if s.closed {
		return jobs.ErrClosed
	}
	return ctx.Err()
}
