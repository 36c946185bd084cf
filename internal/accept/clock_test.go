package accept_test

import (
	"context"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
)

// A request that names a moment is measured by the ledger's clock, which is
// not asked for each; a clock of ours that jumps makes it asked again.
func TestTheLedgersClockIsReadNowAndThen(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		a := &asked{Ledger: w.ledger}
		at := time.Now()
		s := w.service(a, func(c *accept.Config) { c.Now = func() time.Time { return at } })
		send := func(asked int64) time.Time {
			t.Helper()
			r := good()
			r.Deadline.After = time.Hour
			rec, err := s.Accept(t.Context(), w.caller, r)
			must(t, err)
			equal(t, "asked", a.clocks.Load(), asked)
			m, _ := w.read(rec.MessageID)
			return m.ExpiresAt
		}
		first := send(1)
		equal(t, "the same moment", send(1), first)
		at = at.Add(time.Second - time.Microsecond)
		equal(t, "later", send(1), first.Add(time.Second-time.Microsecond))
		at = at.Add(time.Microsecond)
		if in := time.Until(send(2)); in > time.Hour || in < 59*time.Minute {
			t.Errorf("expires in %s", in)
		}
		for i, jump := range []time.Duration{time.Hour, -2 * time.Hour} {
			at = at.Add(jump)
			if in := time.Until(send(int64(3 + i))); in > time.Hour || in < 59*time.Minute {
				t.Errorf("after a jump of %s: expires in %s", jump, in)
			}
		}
	})
}

// gated is a ledger whose policy comes when the gate opens.
type gated struct {
	*asked
	entered, gate chan struct{}
}

func (g *gated) EffectivePolicy(ctx context.Context, app postledger.ID, profile string) (ledger.Effective, error) {
	g.entered <- struct{}{}
	<-g.gate
	return g.asked.EffectivePolicy(ctx, app, profile)
}

// When the policy at hand becomes old, one request reads it anew, and nobody
// waits for it; what is older than that is not used.
func TestOneRequestRenewsThePolicy(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		g := &gated{&asked{Ledger: w.ledger}, make(chan struct{}, 1), make(chan struct{}, 1)}
		at := time.Now()
		s := w.service(g, func(c *accept.Config) { c.Now = func() time.Time { return at } })
		send := func() {
			t.Helper()
			_, err := s.Accept(t.Context(), w.caller, good())
			must(t, err)
		}
		read := func() {
			t.Helper()
			g.gate <- struct{}{}
			send()
			<-g.entered
		}
		read()
		send()
		at = at.Add(time.Second)
		done := make(chan error, 1)
		go func() {
			_, err := s.Accept(t.Context(), w.caller, good())
			done <- err
		}()
		<-g.entered // and no gate: it does not come back yet
		for range 5 {
			send()
		}
		equal(t, "policies", g.policies.Load(), 1)
		g.gate <- struct{}{}
		must(t, <-done)
		equal(t, "policies", g.policies.Load(), 2)
		send()
		at = at.Add(2 * time.Second)
		read()
		equal(t, "policies", g.policies.Load(), 3)
	})
}
