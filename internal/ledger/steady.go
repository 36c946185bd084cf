package ledger

import (
	"sync"
	"time"
)

const (
	// stepLasts is how long a step must last until it is believed.
	stepLasts = 2 * time.Minute
	// stepLeast is the least that is a step. Less is how clocks move that are
	// kept by NTP, and is followed at once.
	stepLeast = time.Second
)

// SteadyClock is a wall clock whose steps are not believed at once.
//
// The ledger compares its moments with those that callers named, such as a
// deadline, and with each other. A clock that is set an hour ahead and back
// within a minute must not let mail expire that has half an hour left, nor put a
// retry off for an hour, nor make ids that no list finds. So a step is obeyed
// when the wall clock has stood by it for two minutes; until then time goes on
// by the process's monotonic clock. That one stands still while the machine
// sleeps, and what it missed then is no step.
func SteadyClock(wall func() time.Time) func() time.Time {
	return steadyClock(wall, asleep)
}

// steadyClock is SteadyClock with the time that the machine has slept.
func steadyClock(wall func() time.Time, asleep func() time.Duration) func() time.Time {
	c := &steady{wall: wall, asleep: asleep, slept: asleep(), at: wall().Round(0), mono: time.Now()}
	return c.now
}

type steady struct {
	wall   func() time.Time
	asleep func() time.Duration

	mu sync.Mutex
	// at is what the clock said at a moment of the monotonic clock.
	at   time.Time
	mono time.Time
	// slept is how long the machine had slept when that was looked at last:
	// when the wall clock was elsewhere.
	slept time.Duration
	// off is how far away the wall clock is, not believed since then by the
	// monotonic clock.
	off   time.Duration
	since time.Time
}

func (c *steady) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono, wall := time.Now(), c.wall().Round(0)
	off := wall.Sub(c.at.Add(mono.Sub(c.mono)))
	if off.Abs() >= stepLeast {
		slept := c.asleep()
		off -= slept - c.slept
		c.at, c.slept = c.at.Add(slept-c.slept), slept
	}
	switch {
	case off.Abs() < stepLeast:
		c.at, c.mono, c.since = wall, mono, time.Time{}
	case c.since.IsZero() || (off-c.off).Abs() >= stepLeast:
		c.off, c.since = off, mono
	case mono.Sub(c.since) >= stepLasts:
		c.at, c.mono, c.since = wall, mono, time.Time{}
	}
	return c.at.Add(mono.Sub(c.mono))
}
