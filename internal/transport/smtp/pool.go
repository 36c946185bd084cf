package smtp

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errClosed = errors.New("the transport is closed")

// pool bounds and keeps connections. A slot is held by each connection in
// use; a connection is opened only by the holder of a slot who found none
// idle or has just dropped one, so slots in use + idle never exceed the
// slots there are.
type pool struct {
	slots chan struct{} // capacity MaxConnections

	mu     sync.Mutex
	idle   []*conn // least recently used first
	closed bool
}

func newPool(size int) *pool { return &pool{slots: make(chan struct{}, size)} }

// acquire waits for a slot.
func (p *pool) acquire(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
	default:
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		<-p.slots
		return errClosed
	}
	return nil
}

// take returns the connection used last, if it may still be used.
func (p *pool) take(alive func(*conn) bool) *conn {
	var old []*conn
	defer func() { quitAll(old) }()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		last := len(p.idle) - 1
		c := p.idle[last]
		p.idle[last] = nil
		p.idle = p.idle[:last]
		if alive(c) {
			return c
		}
		old = append(old, c)
	}
	return nil
}

// put keeps c for the next use and gives its slot back.
func (p *pool) put(c *conn, alive func(*conn) bool) {
	keep := c != nil && !c.broken && alive(c)
	p.mu.Lock()
	if keep && !p.closed {
		p.idle = append(p.idle, c)
		c = nil
	}
	p.mu.Unlock()
	if c != nil {
		c.quit()
	}
	<-p.slots
}

// prune closes the idle connections that may not be used any more.
func (p *pool) prune(alive func(*conn) bool) {
	p.mu.Lock()
	var old []*conn
	kept := p.idle[:0]
	for _, c := range p.idle {
		if alive(c) {
			kept = append(kept, c)
		} else {
			old = append(old, c)
		}
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	p.mu.Unlock()
	quitAll(old)
}

func (p *pool) close() {
	p.mu.Lock()
	old := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	quitAll(old)
}

func quitAll(conns []*conn) {
	for _, c := range conns {
		c.quit()
	}
}

// usable reports whether the limits let c carry another message at the time now.
func (t *Transport) usable(c *conn, now time.Time) bool {
	return c.messages < t.cfg.MaxMessagesPerConnection &&
		now.Sub(c.lastUsed) < t.cfg.MaxIdle &&
		now.Sub(c.born) < t.cfg.MaxAge
}
