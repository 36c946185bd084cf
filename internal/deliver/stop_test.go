package deliver_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// A stop waits for the answers of what is on the wire, returns what is not,
// and leaves no lease and no doubt.
func TestStopFinishesWhatIsOnTheWire(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		held, reached := make(chan struct{}), make(chan struct{}, 4)
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepDot, Do: transporttest.Action{Hook: func() { reached <- struct{}{} }, Hold: held}},
		}}, nil)
		var ids []postledger.ID
		for i := range 30 {
			ids = append(ids, r.Send([]string{fmt.Sprintf("a%d@x.example", i)})...)
		}
		w := r.start()
		for range 4 { // every connection has sent its dot
			<-reached
		}
		stopped := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			stopped <- w.Stop(ctx)
		}()
		count := func() map[postledger.Status]int {
			n := map[postledger.Status]int{}
			for _, id := range ids {
				n[r.Row(id).Status]++
			}
			return n
		}
		r.until("unsent leases are returned", func() bool { return count()[postledger.StatusSending] == 4 })
		close(held)
		must(t, <-stopped)
		n := count()
		if n[postledger.StatusSent] != 4 || n[postledger.StatusQueued] != 26 {
			t.Errorf("after the stop: %v", n)
		}
		for _, id := range ids {
			if d := r.Row(id); d.Status == postledger.StatusQueued && d.Attempts != 0 {
				t.Errorf("%s was charged", d.Address)
			}
		}
		if v, ok, err := r.WorkerByID(t.Context(), w.ID()); err != nil || !ok || v.EndedAt.IsZero() {
			t.Errorf("its row: %+v %v", v, err)
		}
	})
}

// A hop that answers nothing bounds the stop, wherever it holds: what is
// before its dot goes back, and what is behind it is in doubt after the next
// start, by the journal.
func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step transporttest.Step
		want postledger.Status
	}{
		{transporttest.StepGreeting, postledger.StatusSent},
		{transporttest.StepMail, postledger.StatusSent},
		{transporttest.StepData, postledger.StatusSent},
		{transporttest.StepDot, postledger.StatusUnconfirmed},
	} {
		for _, db := range []string{"sqlite", "postgres"} {
			t.Run(string(c.step)+"/"+db, func(t *testing.T) {
				t.Parallel()
				url := database(t, db)
				reached := make(chan struct{})
				r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, url) }, transporttest.HopConfig{Rules: []transporttest.Rule{
					{At: c.step, Times: 1, Do: transporttest.Action{Hook: func() { close(reached) }, Hold: make(chan struct{})}},
				}}, nil)
				id := r.Send([]string{"a@x.example"})[0]
				config := childConfig{Database: url, JournalDir: r.dir, StopWithin: 100 * time.Millisecond}
				first := startChild(t, config, "")
				<-reached
				began := time.Now()
				_, _ = first.stdin.Write([]byte("\n"))
				<-first.dead
				if took := time.Since(began); took > 15*time.Second {
					t.Errorf("the stop took %v", took)
				}
				if inDoubt := c.want == postledger.StatusUnconfirmed; (first.err != nil) != inDoubt {
					t.Errorf("stop: %v, in doubt %v", first.err, inDoubt)
				}
				next := startChild(t, config, "")
				d := r.settled(id)[0]
				next.stop()
				if d.Status != c.want || d.Attempts != 1 {
					t.Errorf("%s/%s, attempt %d; want %s", d.Status, d.Reason, d.Attempts, c.want)
				}
				// The hop that holds a dot takes the message.
				if n := r.copies()["a@x.example"]; n != 1 {
					t.Errorf("%d copies", n)
				}
				r.hop.TakeFaults() // dropped connections
			})
		}
	}
}
