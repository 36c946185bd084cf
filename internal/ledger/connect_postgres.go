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
// server alone for a moment, longer each time: every request and every loop
// would else ask a server that is starting, full or gone, as fast as it can
// refuse; each question costs it a process.
type connector struct {
	driver.Connector
	now func() time.Time

	mu    sync.Mutex
	rest  time.Duration
	until time.Time
	last  error
}

// The rest after a failure doubles from the first to the second. It bounds what
// a server in trouble is asked to one connection a second (and as many more as
// were being made at the same time, which the pool bounds), and what the rest
// adds to an outage to that second.
const (
	firstRest = 50 * time.Millisecond
	mostRest  = time.Second
)

// errTooSoon: the server was not asked again so soon after it refused.
var errTooSoon = errors.New("the database could not be connected to a moment ago")

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.resting(); err != nil {
		return nil, err
	}
	conn, err := c.Connector.Connect(ctx)
	c.note(ctx, err)
	return conn, err
}

func (c *connector) resting() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.now().Before(c.until) {
		return fmt.Errorf("%w: %w", errTooSoon, c.last)
	}
	return nil
}

// note keeps how it went. That a caller went away says nothing about the server.
func (c *connector) note(ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.rest, c.last = 0, nil
	case errors.Is(ctx.Err(), context.Canceled):
	default:
		c.rest = min(max(2*c.rest, firstRest), mostRest)
		c.until, c.last = c.now().Add(c.rest), err
	}
}
