package jobs

import (
	"context"
	"sync"
	"time"
)

// slots counts what a worker may run at a time. Slow jobs use a part of them, so a
// slow backlog never holds up fast work.
type slots struct {
	mu             sync.Mutex
	most, mostSlow int
	used, usedSlow int
	freed          chan struct{} // holds one token when a slot became free
}

func newSlots(most, mostSlow int) *slots {
	return &slots{most: most, mostSlow: mostSlow, freed: make(chan struct{}, 1)}
}

// free waits until a slot is free and tells how many are; it is false when ctx has
// ended.
func (s *slots) free(ctx context.Context) (most, slow int, ok bool) {
	for {
		if ctx.Err() != nil {
			return 0, 0, false
		}
		s.mu.Lock()
		most = s.most - s.used
		slow = min(s.mostSlow-s.usedSlow, most)
		s.mu.Unlock()
		if most > 0 {
			return most, slow, true
		}
		select {
		case <-s.freed:
		case <-ctx.Done():
		}
	}
}

// await waits until a slot becomes free, at most for a time.
func (s *slots) await(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-s.freed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *slots) use(lane Lane) { s.change(lane, 1) }

func (s *slots) release(lane Lane) {
	s.change(lane, -1)
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

func (s *slots) change(lane Lane, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used += by
	if lane == Slow {
		s.usedSlow += by
	}
}
