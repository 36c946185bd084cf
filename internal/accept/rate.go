package accept

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/postledger/postledger"
)

// limiters bound how many immediate messages a minute an app may submit to a
// profile. A minute's worth may come at once; what counts is the average.
// The bound is this process's: it keeps one app from filling the lane, and
// quota is what is exact over all processes.
type limiters struct {
	mu sync.Mutex
	m  map[limiterKey]*rate.Limiter
}

type limiterKey struct{ app, profile postledger.ID }

// maxLimiters bounds the map, some 150 bytes an entry: 1.5 MiB.
const maxLimiters = 10_000

func newLimiters() *limiters { return &limiters{m: map[limiterKey]*rate.Limiter{}} }

func (l *limiters) take(app postledger.ID, p *postledger.Profile, now time.Time) error {
	perMinute := p.Config.ImmediatePerMinute
	if perMinute <= 0 {
		return nil
	}
	r := l.of(limiterKey{app, p.ID}, perMinute, now).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return &RateError{PerMinute: perMinute, RetryAfter: wait}
}

func (l *limiters) of(k limiterKey, perMinute int, now time.Time) *rate.Limiter {
	limit := rate.Limit(float64(perMinute) / 60)
	l.mu.Lock()
	defer l.mu.Unlock()
	lim := l.m[k]
	switch {
	case lim == nil:
		l.makeRoom(now)
		lim = rate.NewLimiter(limit, perMinute)
		l.m[k] = lim
	case lim.Burst() != perMinute:
		lim.SetLimitAt(now, limit)
		lim.SetBurstAt(now, perMinute)
	}
	return lim
}

// makeRoom drops the limiters that are full again, which is the same as new
// ones; when all are in use, any one: its app may then send a minute's worth
// more.
func (l *limiters) makeRoom(now time.Time) {
	if len(l.m) < maxLimiters {
		return
	}
	var any limiterKey
	for k, lim := range l.m {
		any = k
		if lim.TokensAt(now) >= float64(lim.Burst()) {
			delete(l.m, k)
		}
	}
	if len(l.m) >= maxLimiters {
		delete(l.m, any)
	}
}
