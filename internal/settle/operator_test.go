package settle_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/settle"
)

func operatorWorld(t *testing.T) *ledgertest.World {
	t.Helper()
	return ledgertest.NewWorld(t, func(t *testing.T) *ledger.Ledger {
		t.Helper()
		l, err := ledger.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{})
		if err == nil {
			t.Cleanup(func() {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
			err = l.Migrate(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}

func many(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("u%d@in.test", i)
	}
	return out
}

// cutting is a ledger that ends the caller's context after some pages.
type cutting struct {
	settle.OperatorStore
	pages int
	cut   context.CancelFunc
}

func (c *cutting) SelectOpen(ctx context.Context, f ledger.Filter, after ledger.Mark, limit int) (ledger.Selection, error) {
	if c.pages--; c.pages < 0 {
		c.cut()
	}
	return c.OperatorStore.SelectOpen(ctx, f, after, limit)
}

// A decision that is cut short says so, has taken effect for a part, and can
// be repeated.
func TestDecisionThatIsCutShort(t *testing.T) {
	w := operatorWorld(t)
	w.Send(many(1200))
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	f := ledger.Filter{App: w.App.ID}
	o := settle.NewOperator(&cutting{w.Ledger, 1, cut}, nil)
	d, err := o.Cancel(ctx, f, postledger.ReasonCanceledByApp, "test")
	if err != nil || !d.More || d.Done != 500 {
		t.Fatalf("cut short: %+v, %v", d, err)
	}
	d, err = settle.NewOperator(w.Ledger, nil).Cancel(t.Context(), f, postledger.ReasonCanceledByApp, "test")
	if err != nil || d.More || d.Done != 700 {
		t.Fatalf("repeated: %+v, %v", d, err)
	}
	// One that had no time at all is an error, not an empty success.
	if d, err := settle.NewOperator(w.Ledger, nil).Cancel(ctx, f, postledger.ReasonCanceledByApp, "test"); err == nil {
		t.Errorf("no time: %+v", d)
	}
}

func TestOperatorMovesUnconfirmedOnly(t *testing.T) {
	w := operatorWorld(t)
	ids := w.Send(many(4))
	for i, l := range w.LeaseN(4) {
		if i == 3 {
			w.MustSettle(ledger.Settlement{ID: l.ID, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusFailed, Reason: postledger.ReasonRejectedRecipient})
			continue
		}
		w.MustSettle(ledger.Settlement{ID: l.ID, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusUnconfirmed, Reason: postledger.ReasonNoAnswer})
	}
	var woke []ledger.ClaimKey
	o := settle.NewOperator(w.Ledger, func(keys []ledger.ClaimKey) { woke = append(woke, keys...) })
	d, err := o.ResolveSent(t.Context(), ledger.Filter{IDs: ids[:1]}, "test")
	if err != nil || d.Done != 1 || len(woke) != 0 || w.Row(ids[0]).Status != postledger.StatusSent {
		t.Errorf("sent: %+v, %v, woke %v", d, err, woke)
	}
	if _, err := o.Cancel(t.Context(), ledger.Filter{IDs: ids[1:2]}, postledger.ReasonCanceledByApp, "test"); err != nil {
		t.Fatal(err)
	}
	d, err = o.Resend(t.Context(), ledger.Filter{App: w.App.ID}, "test")
	if err != nil || d.Done != 1 || d.Unchanged != 1 || len(woke) != 1 {
		t.Errorf("resend: %+v, %v, woke %v", d, err, woke)
	}
	row := w.Row(ids[2])
	if row.Status != postledger.StatusQueued || row.Reason != postledger.ReasonResend || row.EnvelopeID != row.ID || !row.Resent {
		t.Errorf("resent row: %+v", row)
	}
	if s := w.Row(ids[1]).Status; s != postledger.StatusUnconfirmed {
		t.Errorf("the canceled one is %s", s)
	}
	if s := w.Row(ids[3]).Status; s != postledger.StatusFailed {
		t.Errorf("the failed one is %s", s)
	}
}

// A backup's scheduled mail becomes unconfirmed with the rest of what was open.
// Sent again, it still waits for its own time.
func TestResendKeepsTheTimeAhead(t *testing.T) {
	w := operatorWorld(t)
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := now.Add(48 * time.Hour).Truncate(time.Microsecond)
	due, past := w.Send(many(1))[0], w.Send(many(1), ledgertest.WithSendAt(now.Add(-time.Hour)))[0]
	ahead := w.Send(many(2), ledgertest.WithSendAt(at))
	for _, id := range append([]postledger.ID{due, past}, ahead...) {
		w.MustSettle(ledger.Settlement{
			ID: id, Fence: ledger.AnyFence, Mover: postledger.MoverRecovery,
			To: postledger.StatusUnconfirmed, Reason: postledger.ReasonRestored,
		})
	}
	o := settle.NewOperator(w.Ledger, nil)
	if d, err := o.Resend(t.Context(), ledger.Filter{App: w.App.ID}, "test"); err != nil || d.Done != 4 {
		t.Fatalf("resend: %+v, %v", d, err)
	}
	for _, id := range ahead {
		if r := w.Row(id); r.Status != postledger.StatusQueued || r.DueAt.Before(at) || r.DueAt.After(at.Add(time.Minute)) {
			t.Errorf("%s, due at %v, want %v", r.Status, r.DueAt, at)
		}
	}
	if l := w.LeaseN(10); len(l) != 2 {
		t.Errorf("%d leave at once, want the two whose time has come", len(l))
	}
}
