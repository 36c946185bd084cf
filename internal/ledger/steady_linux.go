package ledger

import (
	"time"

	"golang.org/x/sys/unix"
)

// asleep is how long the machine has slept since it started: one of its clocks
// goes on then and the other does not.
func asleep() time.Duration {
	var all, awake unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &all) != nil {
		return 0 // a sleep is then a step like others
	}
	return time.Duration(all.Nano() - awake.Nano())
}
