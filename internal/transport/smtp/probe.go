package smtp

import (
	"context"

	"github.com/postledger/postledger"
)

// Probe implements transport.Transport. An idle connection is asked whether
// it still lives; if not, a new one is opened. Either is kept for Send.
func (t *Transport) Probe(ctx context.Context) postledger.Outcome {
	if err := t.pool.acquire(ctx); err != nil {
		return stopped(postledger.PhaseConnect, "no connection used: "+err.Error())
	}
	c := t.idle()
	if c != nil && !t.lives(ctx, c) {
		c = nil
	}
	why := postledger.Outcome{Class: postledger.OutcomeAccepted, Phase: postledger.PhaseHello}
	if t.cfg.Username != "" {
		why.Phase = postledger.PhaseAuth
	}
	if c == nil {
		var failed postledger.Outcome
		if c, failed = t.dial(ctx); c == nil {
			why = failed
		}
	}
	t.release(c)
	return why
}

// lives asks with RSET, which also ends what was left open; a connection that
// does not answer as it should is dropped.
func (t *Transport) lives(ctx context.Context, c *conn) bool {
	g := c.watch(ctx)
	r, err := c.command(t.cfg.Timeouts.Mail, "RSET")
	if g.release() && err == nil && r.Positive() && c.in.Buffered() == 0 {
		c.open = false
		return true
	}
	c.drop()
	return false
}
