package accept

import (
	"context"
	"sync"
	"time"
)

// clock tells the ledger's time for requests that name a moment, without a
// query for each: what was read a moment ago and what has passed since. A jump
// of this machine's clock makes it at most clockAge wrong, for at most as long.
type clock struct {
	ledger Ledger
	now    func() time.Time

	mu      sync.Mutex
	at      time.Time // of this machine, when it was asked for
	ledgers time.Time
}

const clockAge = time.Second

func newClock(l Ledger, now func() time.Time) *clock { return &clock{ledger: l, now: now} }

func (c *clock) read(ctx context.Context) (time.Time, error) {
	c.mu.Lock()
	at, ledgers := c.at, c.ledgers
	c.mu.Unlock()
	// Without the monotonic reading, which stands still while a machine
	// sleeps and the ledger's does not.
	if since := c.now().Round(0).Sub(at); !ledgers.IsZero() && since >= 0 && since < clockAge {
		return ledgers.Add(since), nil
	}
	asked := c.now().Round(0)
	ledgers, err := c.ledger.Now(ctx)
	if err != nil {
		return time.Time{}, refuse(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// A slower answer than another's is older than it; an earlier one may have
	// been asked for by a clock that was ahead.
	if c.at.Before(asked) || c.at.After(c.now().Round(0)) {
		c.at, c.ledgers = asked, ledgers
	}
	return ledgers, nil
}
