package deliver_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/crashtest"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// A process that is stopped for longer than it may be silent, at each moment
// that matters, beside another that lives and declares it lost; then it goes
// on. Nothing leaves twice, and an answer that comes late counts (invariants 3
// and 4). With SQLite two processes never serve one ledger.
func TestAProcessStoppedTooLong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		stopAt string             // a point of the worker's, or
		step   transporttest.Step // a step at the hop
		fence  int64              // how often it is leased in the end, at least
	}{
		{name: "lease committed", stopAt: "lease_committed", fence: 2},
		{name: "before the 354", step: transporttest.StepData, fence: 2},
		{name: "right before the dot", stopAt: "wire_before_dot", fence: 1},
		{name: "the hop has the dot", step: transporttest.StepDot, fence: 1},
		{name: "answer journaled", stopAt: "answer_journaled", fence: 1},
		{name: "settle about to be sent", stopAt: "settle_before", fence: 1},
	} {
		for _, machine := range []string{"same machine", "another machine"} {
			// One after the other: each has three processes, whose bounds on silence are
			// a second, and 36 of them keep one another silent for longer.
			t.Run(c.name+"/"+machine, func(t *testing.T) {
				database := postgres(t)
				var victim *child
				ready := make(chan struct{})
				hop := transporttest.HopConfig{}
				if c.step != "" {
					hop.Rules = append(hop.Rules, transporttest.Rule{At: c.step, Times: 1, Do: transporttest.Action{
						// The reply goes out when nothing of the process runs any more.
						Hook: func() { <-ready; victim.signal(syscall.SIGSTOP); victim.waitStopped() },
					}})
				}
				r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, database) }, hop, nil)
				ids := r.Send([]string{"a@x.example", "b@x.example"})
				config := childConfig{
					Database: database, JournalDir: r.dir, StopAt: c.stopAt,
					Heartbeat: 100 * time.Millisecond, StaleAfter: 600 * time.Millisecond, LostAfter: 1500 * time.Millisecond,
				}
				victim = startChild(t, config, "")
				close(ready)
				victim.waitStopped()

				config.StopAt = ""
				if machine == "another machine" {
					config.JournalDir = t.TempDir()
				}
				other := startChild(t, config, "")
				for _, d := range r.settled(ids...) {
					if d.Status != postledger.StatusUnconfirmed || d.Reason != postledger.ReasonWorkerLost {
						t.Errorf("while it is stopped: %s is %s/%s", d.Address, d.Status, d.Reason)
					}
				}
				victim.signal(syscall.SIGCONT)
				r.until("its own answer has come", func() bool {
					return r.Row(ids[0]).Status == postledger.StatusSent && r.Row(ids[1]).Status == postledger.StatusSent
				})
				victim.stop()
				other.stop()
				for _, id := range ids {
					d := r.Row(id)
					if n := r.copies()[d.Address]; n != 1 || d.Fence < c.fence || d.Resent {
						t.Errorf("%s has %d copies, fence %d (want %d), resent %v", d.Address, n, d.Fence, c.fence, d.Resent)
					}
				}
				r.hop.TakeFaults() // a connection that was dropped before its dot
			})
		}
	}
}

// waitStopped waits until the kernel says that every thread is stopped.
func (k *child) waitStopped() {
	k.t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !crashtest.Stopped(k.PID()) {
		select {
		case <-k.dead:
			k.t.Errorf("the process has ended: %v", k.err)
			return
		case <-poll.C:
		}
	}
}
