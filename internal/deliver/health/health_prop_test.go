package health_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/health"
)

// Whatever happens in whatever order, there is one probe at a time, only while
// down, and a profile that is down gets one within ProbeMost of the clock
// running on.
func TestAProfileIsNeverForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := health.New(start)
		now, tickets, probing := start, []health.Ticket{h.Start()}, false
		outcome := rapid.Custom(func(t *rapid.T) postledger.Outcome {
			return postledger.Outcome{
				Class: postledger.OutcomeClass(rapid.IntRange(0, int(postledger.OutcomeUnknown)).Draw(t, "class")),
				Phase: postledger.Phase(rapid.IntRange(0, int(postledger.PhaseDot)).Draw(t, "phase")),
				Code:  rapid.SampledFrom([]int{0, 250, 421, 550}).Draw(t, "code"),
			}
		})
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(-int64(time.Minute), int64(2*time.Minute)).Draw(t, "pass")))
			before := h.State()
			changed := false
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				tickets = append(tickets, h.Start())
			case 1:
				changed = h.Observe(now, rapid.SampledFrom(tickets).Draw(t, "ticket"), outcome.Draw(t, "outcome"))
			case 2:
				got := h.StartProbe(now)
				if got && (probing || before != health.Down) {
					t.Fatalf("a probe in state %v, another running: %v", before, probing)
				}
				probing = probing || got
			case 3:
				changed = h.Probed(now, outcome.Draw(t, "probe"))
				if changed && !probing {
					t.Fatal("a probe that never ran changed the state")
				}
				probing = false
			default:
				changed = h.Resume(now)
			}
			if changed != (h.State() != before) {
				t.Fatalf("from %v to %v, reported %v", before, h.State(), changed)
			}
			if s := h.Snapshot(); s.NextProbe.IsZero() != (s.State != health.Down) || (s.Alarm != "") != (s.State == health.Paused) {
				t.Fatalf("snapshot %+v", s)
			}
		}
		if h.State() == health.Down {
			h.Probed(now, postledger.Outcome{})
			if h.State() == health.Down && !h.StartProbe(now.Add(health.ProbeMost)) {
				t.Fatalf("no probe within %v: %+v", health.ProbeMost, h.Snapshot())
			}
		}
	})
}
