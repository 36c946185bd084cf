package memhot

import (
	"context"
	"time"

	"github.com/postledger/postledger/jobs"
)

type flag struct {
	jobs.Flag
	until time.Time
}

// pending is an Add whose spilled jobs are not all committed.
type pending struct {
	scopes map[jobs.Scope]struct{}
	until  time.Time
}

// spill notes that a job of a scope was told to wait. It counts for the lane's
// flag as well as for the group's: whoever takes one of them down must have seen
// the row.
func (s *Set) spill(scope jobs.Scope, id jobs.SpillID, now time.Time) {
	for _, scope := range both(scope) {
		if f := s.flags[scope]; f != nil {
			f.Spills++
		}
		if id == (jobs.SpillID{}) {
			continue
		}
		p := s.pending[id]
		if p == nil {
			p = &pending{scopes: map[jobs.Scope]struct{}{}}
			s.pending[id] = p
		}
		p.until = now.Add(s.limits.FlagLife)
		p.scopes[scope] = struct{}{}
	}
}

// both are a lane and a group in it, or the lane alone.
func both(scope jobs.Scope) []jobs.Scope {
	if scope.Group == "" {
		return []jobs.Scope{scope}
	}
	return []jobs.Scope{{Lane: scope.Lane}, scope}
}

func (s *Set) raise(now time.Time, scopes []jobs.Scope) {
	for _, scope := range scopes {
		f := s.flags[scope]
		if f == nil {
			s.numbers++
			f = &flag{Flag: jobs.Flag{Scope: scope, Number: s.numbers, Since: now}}
			s.flags[scope] = f
		}
		f.until = now.Add(s.limits.FlagLife)
	}
}

// expireFlags forgets flags that nobody renewed and spills that nobody settled.
func (s *Set) expireFlags(now time.Time) {
	for scope, f := range s.flags {
		if !f.until.After(now) {
			delete(s.flags, scope)
		}
	}
	for id, p := range s.pending {
		if !p.until.After(now) {
			delete(s.pending, id)
		}
	}
	for group, until := range s.held {
		if !until.After(now) {
			delete(s.held, group)
		}
	}
}

func (s *Set) pendingIn(scope jobs.Scope) int {
	n := 0
	for _, p := range s.pending {
		if _, ok := p.scopes[scope]; ok {
			n++
		}
	}
	return n
}

// Settle is jobs.Hot's.
func (s *Set) Settle(ctx context.Context, spills []jobs.SpillID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	for _, id := range spills {
		delete(s.pending, id)
	}
	return nil
}

// Flags is jobs.Hot's.
func (s *Set) Flags(ctx context.Context) ([]jobs.Flag, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	s.expireFlags(time.Now())
	out := make([]jobs.Flag, 0, len(s.flags))
	for scope, f := range s.flags {
		flag := f.Flag
		flag.Pending = s.pendingIn(scope)
		out = append(out, flag)
	}
	return out, nil
}

// Raise is jobs.Hot's.
func (s *Set) Raise(ctx context.Context, scopes []jobs.Scope) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	now := time.Now()
	s.expireFlags(now)
	s.raise(now, scopes)
	return nil
}

// Renew is jobs.Hot's.
func (s *Set) Renew(ctx context.Context, flags []jobs.Flag) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	now := time.Now()
	s.expireFlags(now)
	for _, flag := range flags {
		if f := s.flags[flag.Scope]; f != nil && f.Number == flag.Number {
			f.until = now.Add(s.limits.FlagLife)
		}
	}
	return nil
}

// Clear is jobs.Hot's.
func (s *Set) Clear(ctx context.Context, flag jobs.Flag, keep []jobs.Scope) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return false, err
	}
	now := time.Now()
	s.expireFlags(now)
	f := s.flags[flag.Scope]
	if f == nil {
		return true, nil
	}
	if f.Number != flag.Number || f.Spills != flag.Spills || flag.Pending > 0 || s.pendingIn(flag.Scope) > 0 || !s.below(flag.Lane) {
		return false, nil
	}
	delete(s.flags, flag.Scope)
	s.raise(now, keep)
	return true, nil
}
