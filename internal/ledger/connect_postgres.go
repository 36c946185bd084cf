package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"
)

// connector makes the pool's connections. After one that failed it leaves the
// server alone for a moment, longer each time, and then lets one ask: every
// request and every loop would else ask a server that is starting, full or gone,
// as fast as it can refuse; each question costs it a process.
type connector struct {
	driver.Connector
	now func() time.Time

	mu    sync.Mutex
	rest  time.Duration
	until time.Time
	last  error // nil while the server is not known to be in trouble
	// asking: one asks whether the trouble is over.
	asking bool
}

// The rest after a failure doubles from the first to the second. It bounds what
// a server in trouble is asked to one connection a second, after as many as were
// being made when the trouble began, which the pool bounds, and what the rest
// adds to an outage to that second.
const (
	firstRest = 50 * time.Millisecond
	mostRest  = time.Second
)

// errTooSoon: the server was not asked again so soon after it refused.
var errTooSoon = errors.New("the database could not be connected to a moment ago")

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	asks, err := c.admit()
	if err != nil {
		return nil, err
	}
	conn, err := c.Connector.Connect(ctx)
	c.note(ctx, asks, err)
	return conn, err
}

// admit says whether the server may be asked, and whether this is the one that
// asks while it is in trouble.
func (c *connector) admit() (asks bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return false, nil
	}
	if c.asking || c.now().Before(c.until) {
		return false, fmt.Errorf("%w: %w", errTooSoon, c.last)
	}
	c.asking = true
	return true, nil
}

// note keeps how it went. That a caller went away says nothing about the server,
// and of those that asked at the same moment before the first had failed no more
// than that one counts.
func (c *connector) note(ctx context.Context, asked bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked {
		c.asking = false
	}
	switch {
	case err == nil:
		c.rest, c.last = 0, nil
	case errors.Is(ctx.Err(), context.Canceled):
	case asked || c.last == nil:
		c.rest = min(max(2*c.rest, firstRest), mostRest)
		c.until, c.last = c.now().Add(c.rest), err
	}
}
