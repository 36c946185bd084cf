package accept

import (
	"context"
	"sync"
	"time"

	"github.com/postledger/postledger"
)

// checkOverload refuses everything while the whole ledger holds more than it
// should.
func (s *Service) checkOverload(ctx context.Context) error {
	if s.MaxWaiting <= 0 {
		return nil
	}
	n, err := s.Backlog.Waiting(ctx, postledger.ID{}, s.MaxWaiting+1)
	if err != nil {
		return refuse(err)
	}
	if n > s.MaxWaiting {
		return &BusyError{CodeOverloaded, time.Minute}
	}
	return nil
}

// checkBacklog refuses a batch while more waits for the profile than it sends
// in a day.
func (s *Service) checkBacklog(ctx context.Context, p *postledger.Profile) error {
	if p.Config.PacePerMinute <= 0 {
		return nil
	}
	limit := int64(p.Config.PacePerMinute) * 24 * 60
	n, err := s.Backlog.Waiting(ctx, p.ID, limit+1)
	if err != nil {
		return refuse(err)
	}
	if n > limit {
		return &BacklogError{Waiting: n, Limit: limit}
	}
	return nil
}

// Counter counts queued deliveries of a profile, or of all with the zero id,
// and no further than upTo.
type Counter interface {
	CountWaiting(ctx context.Context, profile postledger.ID, upTo int64) (int64, error)
}

// Estimate is a Backlog that counts now and then, and adds what this process
// has accepted in between. What was sent meanwhile it learns at the next count.
type Estimate struct {
	counter Counter
	now     func() time.Time

	mu sync.Mutex
	m  map[postledger.ID]*count
}

type count struct {
	turn  chan struct{} // one counts at a time, and the others wait no longer than they may
	n     int64
	upTo  int64
	until time.Time

	added int64 // guarded by Estimate.mu
}

const (
	// A count is good for this long, and for twenty times as long as it took:
	// counting costs the database at most a twentieth of its time.
	countAge   = 5 * time.Second
	countShare = 20
	// maxCounts bounds the map: there are not nearly as many profiles.
	maxCounts = 10_000
)

// NewEstimate makes an estimate; now may be nil.
func NewEstimate(c Counter, now func() time.Time) *Estimate {
	if now == nil {
		now = time.Now
	}
	return &Estimate{counter: c, now: now, m: map[postledger.ID]*count{}}
}

// Waiting estimates what waits.
func (e *Estimate) Waiting(ctx context.Context, profile postledger.ID, upTo int64) (int64, error) {
	c := e.of(profile)
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	start := e.now()
	if start.Before(c.until) && c.upTo >= upTo {
		return c.n + e.since(c), nil
	}
	before := e.since(c)
	n, err := e.counter.CountWaiting(ctx, profile, upTo)
	if err != nil {
		return 0, err
	}
	end := e.now()
	c.n, c.upTo = n, upTo
	c.until = end.Add(max(countAge, countShare*end.Sub(start)))
	e.mu.Lock()
	// What was added while the count ran may be in it or not: counting it
	// twice for a few seconds is the safe side.
	c.added -= before
	e.mu.Unlock()
	return n + e.since(c), nil
}

// Added tells of accepted deliveries.
func (e *Estimate) Added(profile postledger.ID, n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range [...]postledger.ID{profile, {}} {
		if c := e.m[id]; c != nil {
			c.added += n
		}
	}
}

func (e *Estimate) of(profile postledger.ID) *count {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.m[profile]
	if c == nil {
		if len(e.m) >= maxCounts {
			clear(e.m)
		}
		c = &count{turn: make(chan struct{}, 1)}
		e.m[profile] = c
	}
	return c
}

func (e *Estimate) since(c *count) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return c.added
}
