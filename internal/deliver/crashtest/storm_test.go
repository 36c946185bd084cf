package crashtest_test

import (
	"testing"

	"github.com/postledger/postledger/internal/deliver/crashtest"
)

// slow is a process that has sent nothing yet.
type slow struct{ dead chan struct{} }

func (s slow) Kill()                 { close(s.dead) }
func (s slow) Dead() <-chan struct{} { return s.dead }
func (s slow) PID() int              { return 0 }

// A process that needs longer for its start than the record may stand still is
// killed when nothing is left to send, not before.
func TestAStormWaitsForASlowStart(t *testing.T) {
	t.Parallel()
	asked := 0
	crashtest.Storm(t, crashtest.StartSink(t), crashtest.Plan{
		Kills: 1, Deliveries: 10_000,
		Start:     func(int) crashtest.Process { return slow{make(chan struct{})} },
		AfterKill: func([]crashtest.Process) {},
		Left: func() bool {
			asked++
			return asked < 2
		},
	})
	if asked != 2 {
		t.Errorf("asked %d times whether anything is left, want 2", asked)
	}
}
