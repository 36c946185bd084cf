package webhook

import (
	"math/rand/v2"
	"time"
)

// Schedule is when an event is tried, counted from its first try: ten times within
// 24 hours (the example of Standard Webhooks, "Operational considerations").
var Schedule = []time.Duration{
	0,
	5 * time.Second,
	5 * time.Minute,
	30 * time.Minute,
	2 * time.Hour,
	5 * time.Hour,
	10 * time.Hour,
	14 * time.Hour,
	20 * time.Hour,
	24 * time.Hour,
}

// RetryAfterMax bounds what an endpoint may ask for.
const RetryAfterMax = 24 * time.Hour

// jitter spreads tries by a tenth in either direction: a thousand events that
// failed together do not come back together.
const jitter = 0.1

// Next says how long to wait after the try-th try (from 1) has failed, and asked
// for at least after; false when it was the last. random is in [0,1).
func Next(try int, after time.Duration, random float64) (time.Duration, bool) {
	if try < 1 || try >= len(Schedule) {
		return 0, false
	}
	wait := Schedule[try] - Schedule[try-1]
	wait += time.Duration((2*random - 1) * jitter * float64(wait))
	return max(wait, min(after, RetryAfterMax)), true
}

// Random is Next's, for who need not repeat it.
func Random() float64 { return rand.Float64() }
