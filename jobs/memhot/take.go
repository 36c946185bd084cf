package memhot

import (
	"bytes"
	"context"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Take is jobs.Hot's.
func (s *Set) Take(ctx context.Context, take jobs.Take) ([]*jobs.Held, error) {
	if err := take.Validate(); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(take.Wait)
	for {
		held, changed, next, err := s.take(ctx, take)
		if len(held) > 0 || err != nil {
			return held, err
		}
		until := deadline
		if !next.IsZero() && next.Before(until) {
			until = next
		}
		if rest := time.Until(until); rest > 0 {
			timer := time.NewTimer(rest)
			select {
			case <-changed:
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
		}
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			return nil, nil
		}
	}
}

// take takes what is there, and tells what to wait for otherwise.
func (s *Set) take(ctx context.Context, take jobs.Take) (held []*jobs.Held, changed <-chan struct{}, next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, next, jobs.ErrClosed
	}
	if ctx.Err() != nil {
		return nil, s.changed, next, nil
	}
	now := time.Now()
	s.bringBack(now)
	fast := s.lease(nil, jobs.Fast, take.Max, take.Lease, now)
	held = s.lease(fast, jobs.Slow, min(take.MaxSlow, take.Max-len(fast)), take.Lease, now)
	next = s.delayed.next()
	if end := s.active.next(); next.IsZero() || !end.IsZero() && end.Before(next) {
		next = end
	}
	return held, s.changed, next, nil
}

// bringBack lets those wait that are due, and those whose lease has ended: these
// in front, charged, since their worker may have died of them.
func (s *Set) bringBack(now time.Time) {
	for i := s.delayed.due(now); i != nil; i = s.delayed.due(now) {
		s.enter(i, false)
	}
	for i := s.active.due(now); i != nil; i = s.active.due(now) {
		i.Attempts++
		s.endRun(i)
		s.enter(i, true)
	}
}

func (s *Set) lease(held []*jobs.Held, lane jobs.Lane, most int, life time.Duration, now time.Time) []*jobs.Held {
	line := s.waiting[lane]
	for taken := 0; taken < most && line.len() > 0; taken++ {
		i := line.popFront().item
		s.tokens++
		i.state, i.slot, i.token = active, nil, s.tokens
		s.active.add(i, now.Add(life))
		if i.DedupeKey != "" {
			k := s.keyed(&i.Entry)
			if k.waits == i {
				k.waits = nil
			}
			k.runs[i] = struct{}{}
		}
		h := &jobs.Held{Entry: i.Entry, Token: i.token, Cost: i.cost, Superseded: i.superseded}
		h.Payload = bytes.Clone(i.Payload)
		held = append(held, h)
	}
	return held
}

// endRun forgets the lease of an item that is in no timeline any more.
func (s *Set) endRun(i *item) {
	i.token = 0
	if i.DedupeKey == "" {
		return
	}
	k := s.keyed(&i.Entry)
	delete(k.runs, i)
	if !i.superseded && k.waits == nil {
		k.waits = i
	}
}

// leased is the item that is still under this lease.
func (s *Set) leased(h *jobs.Held) *item {
	i := s.items[h.ID]
	if i == nil || i.state != active || i.token != h.Token {
		return nil
	}
	return i
}

// Ack is jobs.Hot's.
func (s *Set) Ack(ctx context.Context, held []*jobs.Held) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]bool, len(held))
	if err := s.usable(ctx); err != nil {
		return out, err
	}
	for n, h := range held {
		i := s.leased(h)
		if i == nil {
			continue
		}
		out[n] = true
		s.active.remove(i)
		s.remove(i)
		if i.DedupeKey != "" {
			delete(s.keyed(&i.Entry).runs, i)
			s.unkey(&i.Entry)
		}
	}
	s.wake()
	return out, nil
}

// Return is jobs.Hot's.
func (s *Set) Return(ctx context.Context, returns []jobs.Return) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]bool, len(returns))
	if err := s.usable(ctx); err != nil {
		return out, err
	}
	now := time.Now()
	// From the last to the first, so that what goes to the front keeps its order.
	for n := len(returns) - 1; n >= 0; n-- {
		r := returns[n]
		i := s.leased(r.Held)
		if i == nil {
			continue
		}
		out[n] = true
		s.active.remove(i)
		if r.Charge {
			i.Attempts++
		}
		s.endRun(i)
		if r.Delay > 0 {
			s.delay(i, now.Add(min(r.Delay, jobs.HotHorizon)))
		} else {
			s.enter(i, true)
		}
	}
	s.wake()
	return out, nil
}

// Extend is jobs.Hot's.
func (s *Set) Extend(ctx context.Context, held []*jobs.Held, life time.Duration) ([]jobs.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]jobs.Verdict, len(held))
	if err := s.usable(ctx); err != nil {
		return out, err
	}
	until := time.Now().Add(min(life, jobs.MaxLease))
	for n, h := range held {
		i := s.leased(h)
		switch {
		case i == nil:
			out[n] = jobs.Lost
			continue
		case i.superseded:
			out[n] = jobs.Superseded
		default:
			out[n] = jobs.Kept
		}
		s.active.move(i, until)
	}
	return out, nil
}
