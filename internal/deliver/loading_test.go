package deliver_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// slowFor is a ledger that reads some messages only once it is released.
type slowFor struct {
	*ledger.Ledger
	messages []postledger.ID
	asked    chan struct{}
	release  chan struct{}
}

func (s *slowFor) LoadToSend(ctx context.Context, ids []postledger.ID, most int64) (map[postledger.ID]*ledger.Loaded, error) {
	if slices.ContainsFunc(ids, func(id postledger.ID) bool { return slices.Contains(s.messages, id) }) {
		select {
		case s.asked <- struct{}{}:
		default:
		}
		select {
		case <-s.release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Ledger.LoadToSend(ctx, ids, most)
}

// Invariant 8: an immediate message that is leased together with bulk does not
// wait until bulk's bodies have been read.
func TestImmediateIsNotReadBehindBulk(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{}, nil)
		slow := &slowFor{Ledger: r.Ledger, asked: make(chan struct{}, 1), release: make(chan struct{})}
		r.tune = func(c *deliver.Config) { c.Ledger, c.Timeout = slow, time.Minute }
		m := r.Message([]string{"bulk@x.example"}, ledgertest.WithLane(postledger.LaneBulk))
		slow.messages = []postledger.ID{m.Message.ID}
		if _, err := r.Accept(t.Context(), r.Request(m)); err != nil {
			t.Fatal(err)
		}
		now := r.Send([]string{"now@x.example"})
		r.start()
		<-slow.asked // bulk was leased, in one round with what came before it started
		r.settled(now...)
		if n := len(r.copies()); n != 1 {
			t.Errorf("%d at the hop, want the immediate one alone", n)
		}
		close(slow.release)
		r.settled(m.Deliveries[0].ID)
	})
}
