package deliver_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// unreadable is a ledger that cannot read messages for a while.
type unreadable struct {
	*ledger.Ledger
	lasts time.Duration

	mu    sync.Mutex
	since time.Time
}

func (u *unreadable) LoadToSend(ctx context.Context, ids []postledger.ID, most int64) (map[postledger.ID]*ledger.Loaded, error) {
	u.mu.Lock()
	if u.since.IsZero() {
		u.since = time.Now()
	}
	over := time.Since(u.since) > u.lasts
	u.mu.Unlock()
	if !over {
		return nil, errors.New("the table cannot be read")
	}
	return u.Ledger.LoadToSend(ctx, ids, most)
}

// What is leased and cannot be read goes back, and is not leased again at once:
// that would ask a database in trouble as fast as it can refuse.
func TestWhatCannotBeReadIsLeasedAgainLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, postgres(t)) }, transporttest.HopConfig{}, nil)
	r.tune = func(c *deliver.Config) { c.Ledger = &unreadable{Ledger: r.Ledger, lasts: 1500 * time.Millisecond} }
	ids := r.Send([]string{"a@x.example"})
	r.start()
	if d := r.settled(ids...)[0]; d.Status != postledger.StatusSent || d.Fence > 4 {
		t.Errorf("%s/%s, leased %d times", d.Status, d.Reason, d.Fence)
	}
	r.eachOnce(1)
}

// unending is a ledger that cannot be reached when the worker's row is to end.
type unending struct {
	*ledger.Ledger
	refusals int
}

func (u *unending) EndWorker(ctx context.Context, worker postledger.ID) error {
	if u.refusals > 0 {
		u.refusals--
		return errors.New("the database could not be connected to a moment ago")
	}
	return u.Ledger.EndWorker(ctx, worker)
}

// A ledger that is unreachable for a moment when a worker stops costs the stop
// that moment: it ends without an error, and nobody has to find it lost.
func TestAStopOutlastsALedgerThatIsAwayForAMoment(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, postgres(t)) }, transporttest.HopConfig{}, nil)
	r.tune = func(c *deliver.Config) { c.Ledger = &unending{Ledger: r.Ledger, refusals: 3} }
	ids := r.Send([]string{"a@x.example"})
	w := r.start()
	r.settled(ids...)
	must(t, w.Stop(t.Context()))
	if v, ok, err := r.WorkerByID(t.Context(), w.ID()); err != nil || !ok || v.EndedAt.IsZero() {
		t.Errorf("its row: %+v %v %v", v, ok, err)
	}
}
