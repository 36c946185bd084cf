package ledger

import "time"

// SteadyClockAsleep is SteadyClock on a machine that sleeps as it is told.
func SteadyClockAsleep(wall func() time.Time, asleep func() time.Duration) func() time.Time {
	return steadyClock(wall, asleep)
}
