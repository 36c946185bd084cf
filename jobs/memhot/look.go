package memhot

import (
	"context"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Depth is jobs.Hot's.
func (s *Set) Depth(ctx context.Context) (jobs.Depth, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return jobs.Depth{}, err
	}
	d := jobs.Depth{
		Jobs: s.jobs, Bytes: s.bytes,
		Fast: *s.lanes[jobs.Fast], Slow: *s.lanes[jobs.Slow],
		Active: s.active.len(), Delayed: s.delayed.len(),
	}
	d.Fast.Waiting, d.Slow.Waiting = s.waiting[jobs.Fast].len(), s.waiting[jobs.Slow].len()
	d.Fast.Below, d.Slow.Below = s.below(jobs.Fast), s.below(jobs.Slow)
	return d, nil
}

// Contains is jobs.Hot's.
func (s *Set) Contains(ctx context.Context, ids []jobs.ID) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]bool, len(ids))
	if err := s.usable(ctx); err != nil {
		return out, err
	}
	for n, id := range ids {
		_, out[n] = s.items[id]
	}
	return out, nil
}

// AwaitRoom is jobs.Hot's.
func (s *Set) AwaitRoom(ctx context.Context, lane jobs.Lane) error {
	for {
		s.mu.Lock()
		closed, below, changed := s.closed, s.below(lane), s.changed
		s.mu.Unlock()
		switch {
		case closed:
			return jobs.ErrClosed
		case below:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// Hold is jobs.Hot's.
func (s *Set) Hold(ctx context.Context, group string, until time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.held[group] = until
	s.expireFlags(time.Now())
	return nil
}

// Epoch is jobs.Hot's: the set lives as long as this process.
func (s *Set) Epoch(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch, s.usable(ctx)
}
