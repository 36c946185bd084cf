package smtp

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

// Transport sends to one relay. It is safe for concurrent use.
type Transport struct {
	cfg  Config
	tls  *tls.Config
	pool *pool
}

var _ transport.Transport = (*Transport)(nil)

// New checks cfg; it opens no connection.
func New(cfg Config) (*Transport, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Transport{cfg: cfg, tls: tlsConfig(cfg), pool: newPool(cfg.MaxConnections)}, nil
}

// Capabilities implements transport.Transport.
func (t *Transport) Capabilities() transport.Capabilities {
	return transport.Capabilities{Name: "smtp"}
}

// Close ends idle connections; those in use end when their Send does, and no
// later Send starts.
func (t *Transport) Close() error {
	t.pool.close()
	return nil
}

// Prune closes idle connections that at the time now are too old to be used.
// Call it now and then; without it they are only found by the next Send.
func (t *Transport) Prune(now time.Time) {
	t.pool.prune(t.usableAt(now))
}

func (t *Transport) usableAt(now time.Time) func(*conn) bool {
	return func(c *conn) bool { return t.usable(c, now) }
}

// idle returns a connection to use again, or nil. One that was idle for a
// while is looked at first; right after its last reply nothing was pending.
func (t *Transport) idle() *conn {
	now := t.cfg.Now()
	return t.pool.take(func(c *conn) bool {
		return t.usable(c, now) && (now.Sub(c.lastUsed) < lookAfter || !pending(c.raw))
	})
}

// Send implements transport.Transport.
func (t *Transport) Send(ctx context.Context, e *transport.Envelope, w transport.Wire) []postledger.Outcome {
	x := newExchange(e, w)
	if unsafePath(e.ReturnPath) {
		x.settle(failure(postledger.OutcomeRefused, postledger.PhaseNone,
			"the return path has a character that must not be sent in a command"))
	}
	if x.allDecided() {
		return x.outcomes
	}
	if err := t.pool.acquire(ctx); err != nil {
		x.settle(stopped(postledger.PhaseConnect, "no connection used: "+err.Error()))
		return x.outcomes
	}
	c := t.idle()
	for again := true; again; {
		c, again = t.try(ctx, c, x)
	}
	t.release(c)
	return x.outcomes
}

// try sends x on c, or on a new connection if c is nil, and reports whether
// to try again on the returned one.
func (t *Transport) try(ctx context.Context, c *conn, x *exchange) (*conn, bool) {
	if c == nil {
		var why postledger.Outcome
		if c, why = t.dial(ctx); c == nil {
			x.settle(why)
			x.answer()
			return nil, false
		}
		c.bare = x.bare
	}
	g := c.watch(ctx)
	tx := transaction{conn: c, exchange: x, limits: t.cfg.Timeouts, guard: &g, ctx: ctx}
	n := tx.run()
	if !g.release() {
		c.drop()
	}
	switch ended := ctx.Err() != nil; {
	case n == finished:
	case ended && n == tryBare:
		// The refusal was not the last word on the message.
		x.reset()
		x.settle(stopped(postledger.PhaseMail, "stopped before the final dot"))
	case !ended:
		x.reset()
		if n == tryFresh {
			x.fresh = true
		} else {
			x.bare = true
		}
		if c.broken {
			return nil, true
		}
		return c, true
	}
	if c.plain != "" {
		x.remark(c.plain)
	}
	x.answer()
	return c, false
}

// release gives the connection back to the pool, and its slot.
func (t *Transport) release(c *conn) {
	now := t.cfg.Now()
	if c != nil {
		c.reused, c.lastUsed = true, now
	}
	t.pool.put(c, t.usableAt(now))
}
