package settle

import "time"

const (
	// BackoffFirst is the wait after the first charged attempt.
	BackoffFirst = 60 * time.Second
	// BackoffMost is the longest wait, before jitter.
	BackoffMost = time.Hour
	// BackoffJitter is the share by which a wait is made longer or shorter, so
	// that what failed together does not come back together.
	BackoffJitter = 0.2
	// DefaultHorizon is how long a delivery is retried. RFC 5321 §4.5.4.1
	// suggests four to five days for a relay; an application's mail is stale
	// long before.
	DefaultHorizon = 24 * time.Hour
	// UnchargedLimit is which uncharged return in a row charges an attempt.
	UnchargedLimit = 20
)

// Backoff is the wait after the n-th charged attempt: 60 s × 2^(n−1), at most
// an hour, ± 20 %. rnd gives a number in [0,1).
func Backoff(n int, rnd func() float64) time.Duration {
	wait := BackoffMost
	// Six doublings of a minute are more than an hour; many more overflow.
	if n < 7 {
		wait = min(BackoffFirst<<(max(n, 1)-1), BackoffMost)
	}
	return time.Duration(float64(wait) * (1 + BackoffJitter*(2*rnd()-1)))
}

// ChargesAfter reports whether an uncharged return charges an attempt after
// all, when so many came right before it. It is what ends a delivery that a
// hop throttles whenever it sees it. The count starts again at every charge.
func ChargesAfter(returns int) bool { return returns+1 >= UnchargedLimit }

// Retry is a profile's retry policy. Its zero value has the default horizon.
type Retry struct {
	// Horizon is how long after its first charged attempt a delivery is
	// retried; 0 means DefaultHorizon.
	Horizon time.Duration
}

// After says how long to wait when the n-th charged attempt has just failed,
// or false when the horizon has passed and the delivery has failed. first is
// when the first attempt was charged, zero when this is it; now is by the same
// clock. The answer is a wait and not a moment, since the ledger's clock is
// the one that counts.
//
// The horizon is looked at here and nowhere else. It runs on while a delivery
// waits for pace, quota, or a profile that is paused or down, but only a
// failure makes it count; so the last try may be one wait later.
func (r Retry) After(n int, first, now time.Time, rnd func() float64) (wait time.Duration, again bool) {
	horizon := r.Horizon
	if horizon <= 0 {
		horizon = DefaultHorizon
	}
	if !first.IsZero() && now.Sub(first) >= horizon {
		return 0, false
	}
	return Backoff(n, rnd), true
}
