package ledger_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger/internal/ledger"
)

// A step of the wall clock is believed when it has lasted, and a sleep at once.
func TestSteadyClock(t *testing.T) {
	const step = time.Hour
	type moment struct {
		after  time.Duration // since the moment before
		wall   time.Duration // how far the wall clock is from the monotonic one
		asleep time.Duration // how long the machine has slept by then
		off    time.Duration // how far the steady clock has to be
	}
	for name, moments := range map[string][]moment{
		"ahead and back":           {{0, 0, 0, 0}, {time.Second, step, 0, 0}, {50 * time.Second, step, 0, 0}, {time.Second, 0, 0, 0}, {time.Hour, 0, 0, 0}},
		"back and ahead":           {{0, 0, 0, 0}, {time.Second, -step, 0, 0}, {50 * time.Second, -step, 0, 0}, {time.Second, 0, 0, 0}},
		"ahead for good":           {{0, 0, 0, 0}, {time.Second, step, 0, 0}, {119 * time.Second, step, 0, 0}, {time.Second, step, 0, step}, {time.Hour, step, 0, step}},
		"ahead again":              {{time.Second, step, 0, 0}, {100 * time.Second, 0, 0, 0}, {time.Second, step, 0, 0}, {100 * time.Second, step, 0, 0}},
		"ahead in two steps":       {{time.Second, step, 0, 0}, {100 * time.Second, 2 * step, 0, 0}, {100 * time.Second, 2 * step, 0, 0}, {20 * time.Second, 2 * step, 0, 2 * step}},
		"a little":                 {{time.Second, 900 * time.Millisecond, 0, 900 * time.Millisecond}, {time.Second, 0, 0, 0}},
		"asleep for a day":         {{time.Second, 24 * step, 24 * step, 24 * step}, {time.Second, 24 * step, 24 * step, 24 * step}},
		"asleep, and a step later": {{time.Second, step, step, step}, {time.Second, 2 * step, step, step}, {2 * time.Minute, 2 * step, step, 2 * step}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var wall, slept time.Duration
				clock := ledger.SteadyClockAsleep(func() time.Time { return time.Now().Add(wall) }, func() time.Duration { return slept })
				for i, m := range moments {
					<-time.After(m.after)
					wall, slept = m.wall, m.asleep
					if off := time.Until(clock()); off != m.off {
						t.Errorf("moment %d: off by %v, want %v", i, off, m.off)
					}
				}
			})
		})
	}
	if off := time.Until(ledger.SteadyClock(time.Now)()); off.Abs() > time.Minute {
		t.Errorf("the real one is off by %v", off)
	}
}
