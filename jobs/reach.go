package jobs

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// reach is what a client knows of its way to the hot set.
type reach struct {
	hot   Hot
	pause time.Duration

	mu    sync.Mutex
	until time.Time
	// doubted: the set has failed since it was last asked for its epoch.
	doubted bool
	// blind counts, by scope, the rows written while the set did not know of it.
	// It holds a scope for each group at most that had jobs during an outage.
	blind map[Scope]int

	epochMu sync.Mutex
	name    string
	asked   time.Time
}

// resting tells whether the set failed so recently that it is left alone: callers
// must not wait for one timeout each.
func (r *reach) resting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.until)
}

func (r *reach) failed(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until, r.doubted = now.Add(r.pause), true
}

// trusts tells whether the set has not failed since it was last asked for its epoch,
// which it is now if it has.
func (r *reach) trusts() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	doubted := r.doubted
	r.doubted = false
	return !doubted
}

// wroteBlindly remembers the scopes whose flags must go up before this client adds
// to the set again: its later jobs would overtake these.
func (r *reach) wroteBlindly(entries []Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range entries {
		r.blind[entries[i].Scope()]++
	}
}

// owe is wroteBlindly for whole scopes.
func (r *reach) owe(scopes map[Scope]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for scope := range scopes {
		r.blind[scope]++
	}
}

func (r *reach) toRaise() (scopes []Scope, seen []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for scope, n := range r.blind {
		scopes, seen = append(scopes, scope), append(seen, n)
	}
	return scopes, seen
}

// raised forgets the scopes in which nothing was written since they were read.
func (r *reach) raised(scopes []Scope, seen []int) {
	if len(scopes) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, scope := range scopes {
		if r.blind[scope] == seen[i] {
			delete(r.blind, scope)
		}
	}
}

// epochLife is how long an epoch is believed. A row marked with an old one is made
// buffered by the drain, so it costs work and loses nothing.
const epochLife = 5 * time.Second

// epoch is the set's, or empty when it cannot be reached.
func (r *reach) epoch(ctx context.Context, timeout time.Duration) string {
	if r.resting() {
		return ""
	}
	r.epochMu.Lock()
	defer r.epochMu.Unlock()
	if r.trusts() && r.name != "" && time.Since(r.asked) < epochLife {
		return r.name
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	name, err := r.hot.Epoch(ctx)
	if err != nil {
		r.failed(time.Now())
		return ""
	}
	r.name, r.asked = name, time.Now()
	return name
}

// spillIDs makes ids that no other client makes.
type spillIDs struct {
	once sync.Once
	own  [8]byte
	n    atomic.Uint64
}

func (s *spillIDs) next() SpillID {
	s.once.Do(func() { rand.Read(s.own[:]) })
	var id SpillID
	copy(id[:], s.own[:])
	binary.BigEndian.PutUint64(id[8:], s.n.Add(1))
	return id
}

// Ceiling bounds the outbox's rows that wait. Zero fields bound nothing.
type Ceiling struct {
	// Rows is the most that may wait and be due, Age the oldest of them.
	Rows int64
	Age  time.Duration
}

// ceiling looks at the backlog once a second at most, so the bound may be passed
// by what is enqueued in that time.
type ceiling struct {
	outbox Outbox
	most   Ceiling

	mu    sync.Mutex
	asked time.Time
	err   error
}

func (c *ceiling) check(ctx context.Context) error {
	if c.most == (Ceiling{}) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked.IsZero() && time.Since(c.asked) < time.Second {
		return c.err
	}
	backlog, err := c.outbox.Backlog(ctx)
	if err != nil {
		return fmt.Errorf("count the backlog: %w: %w", ErrUnavailable, err)
	}
	c.asked, c.err = time.Now(), nil
	rows, oldest := int64(0), time.Duration(0)
	for _, lane := range Lanes {
		rows += backlog.Buffered[lane]
		oldest = max(oldest, backlog.Oldest[lane])
	}
	switch {
	case c.most.Rows > 0 && rows >= c.most.Rows:
		c.err = fmt.Errorf("%w: %d jobs wait, at most %d may", ErrOverloaded, rows, c.most.Rows)
	case c.most.Age > 0 && oldest >= c.most.Age:
		c.err = fmt.Errorf("%w: the oldest job waits for %v, at most %v is allowed", ErrOverloaded, oldest.Round(time.Second), c.most.Age)
	}
	return c.err
}
