package webhook

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/postledger/postledger"
)

// How much an endpoint may take of a process's slots, and when it is left alone.
const (
	// opensAfter failures in a row open the circuit.
	opensAfter = 5
	// openFirst is how long it stays open, doubling up to openMost with each probe
	// that fails.
	openFirst = 30 * time.Second
	openMost  = 10 * time.Minute
	// slow is how old a try gets before the endpoint counts as doubtful.
	slow = time.Second
	// crowded is how long an event waits for a place of its endpoint before its
	// slot goes to another's.
	crowded = time.Second
)

// circuits share a process's slots out between endpoints: one that does not answer
// holds each slot it has for Timeout, and must leave the others' alone.
//
// A healthy endpoint has three quarters of the slots at most. One whose last try
// failed, or that has left a try without an answer for a second, has an eighth.
// After five failures in a row it has none for a while, and then one at a time
// until one succeeds.
type circuits struct {
	slots int

	mu sync.Mutex
	of map[postledger.ID]*circuit
}

type circuit struct {
	began    map[uint64]time.Time // of the tries that are under way, by number
	next     uint64
	failures int       // in a row
	first    time.Time // of those
	until    time.Time
	opened   int // in a row
	// freed is closed, and made anew, whenever a try ends.
	freed chan struct{}
}

func newCircuits(slots int) *circuits {
	return &circuits{slots: slots, of: map[postledger.ID]*circuit{}}
}

// try is a place that an event has at its endpoint.
type try struct {
	of *circuit
	n  uint64
}

// enter waits for a place, or says after how long to ask again and why.
func (c *circuits) enter(ctx context.Context, endpoint postledger.ID) (t try, wait time.Duration, why string) {
	patience := time.NewTimer(crowded)
	defer patience.Stop()
	for {
		var freed <-chan struct{}
		if t, wait, why, freed = c.look(endpoint); freed == nil {
			return t, wait, why
		}
		select {
		case <-freed:
		case <-patience.C:
			return try{}, someOf(crowded), "its endpoint is busy"
		case <-ctx.Done():
			return try{}, crowded, "the worker stops"
		}
	}
}

func (c *circuits) look(endpoint postledger.ID) (t try, wait time.Duration, why string, freed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of[endpoint]
	if k == nil {
		k = &circuit{began: map[uint64]time.Time{}, freed: make(chan struct{})}
		c.of[endpoint] = k
	}
	now := time.Now()
	doubtful, most := k.failures > 0, max(1, c.slots*3/4)
	for _, began := range k.began {
		doubtful = doubtful || now.Sub(began) >= slow
	}
	switch {
	case now.Before(k.until):
		// Spread, so that those who waited do not come back together.
		return t, k.until.Sub(now) + someOf(openFirst), "its endpoint does not answer", nil
	case k.opened > 0:
		most = 1
	case doubtful:
		most = max(1, c.slots/8)
	}
	if len(k.began) >= most {
		if doubtful {
			return t, someOf(4 * slow), "its endpoint is slow", nil
		}
		return t, 0, "", k.freed
	}
	k.next++
	k.began[k.next] = now
	return try{k, k.next}, 0, "", nil
}

// leave ends a try. It tells until when the endpoint is left alone, if that has
// changed.
func (c *circuits) leave(t try, r *Result) (until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := t.of
	delete(k.began, t.n)
	close(k.freed)
	k.freed = make(chan struct{})
	was := k.until
	switch {
	case r == nil: // it was broken off, and says nothing
	case r.Verdict == VerdictDelivered:
		k.failures, k.opened, k.until = 0, 0, time.Time{}
	default:
		if k.failures++; k.failures == 1 {
			k.first = time.Now()
		}
		k.fail(r)
	}
	if k.until.Equal(was) {
		return time.Time{}
	}
	return k.until
}

func (k *circuit) fail(r *Result) {
	now := time.Now()
	if r.RetryAfter > 0 {
		// It asked for it, for all that is sent to it.
		k.open(now.Add(min(r.RetryAfter, openMost)))
	}
	if k.failures >= opensAfter && !now.Before(k.until) {
		k.opened++
		k.open(now.Add(min(openFirst<<min(k.opened-1, 10), openMost)))
	}
}

func (k *circuit) open(until time.Time) {
	if until.After(k.until) {
		k.until = until
	}
	k.opened = max(k.opened, 1)
}

// streak is how many tries have failed since one succeeded, as far as this process
// knows, and how long ago the first of them did.
func (c *circuits) streak(endpoint postledger.ID) (failures int, ago time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.of[endpoint]; k != nil && k.failures > 0 {
		return k.failures, time.Since(k.first)
	}
	return 0, 0
}

// open tells how many endpoints are left alone now.
func (c *circuits) open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, now := 0, time.Now()
	for _, k := range c.of {
		if now.Before(k.until) {
			n++
		}
	}
	return n
}

// someOf is between half of d and all of it.
func someOf(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
