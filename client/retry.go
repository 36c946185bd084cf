package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// Retry says how a call is repeated that failed for a passing reason: no
// connection, an answer that broke off, 429, 502, 503, 504, and 409
// idempotency_in_progress. No other 4xx is repeated. What is not certain to be
// harmless twice is repeated only when nothing of it has been done; sending is
// harmless, since it always has a key.
type Retry struct {
	// Tries bounds the tries, the first one among them. 1 repeats nothing.
	Tries int
	// Base is the pause before the second try. It doubles with each further
	// one, up to Most, and is shortened at random by up to a half so that many
	// clients do not come back at once.
	Base, Most time.Duration
	// Patience is the longest Retry-After that is waited for. A server that
	// asks for more (a daily quota) gets its error returned at once.
	Patience time.Duration
}

// DefaultRetry is 6 tries with pauses of 0.2 s doubling to 10 s, and patience
// for a Retry-After of a minute.
func DefaultRetry() Retry {
	return Retry{Tries: 6, Base: 200 * time.Millisecond, Most: 10 * time.Second, Patience: time.Minute}
}

func (r Retry) check() error {
	switch {
	case r.Tries < 1:
		return errors.New("tries: must be at least 1")
	case r.Base < 0 || r.Most < r.Base:
		return errors.New("base, most: want 0 <= base <= most")
	case r.Patience < 0:
		return errors.New("patience: must not be negative")
	}
	return nil
}

// pause is how long to wait after the given number of tries, and whether to
// try again at all.
func (r Retry) pause(tries int, asked time.Duration) (time.Duration, bool) {
	if tries >= r.Tries || asked > r.Patience {
		return 0, false
	}
	d := r.Base
	for range tries - 1 {
		if d *= 2; d >= r.Most {
			d = r.Most
			break
		}
	}
	if d > 1 {
		d -= rand.N(d / 2)
	}
	// What the server asks for is the least; the jitter comes on top of it.
	if asked > 0 {
		d += asked
	}
	return d, true
}

// passing reports whether err may be gone at the next try, and for how long
// the server asks to stay away. repeatable says that the call does no harm
// when it is done twice.
func passing(err error, repeatable bool) (asked time.Duration, ok bool) {
	var broken *brokenError
	if errors.As(err, &broken) {
		return 0, repeatable || broken.untouched()
	}
	var e *Error
	if !errors.As(err, &e) {
		return 0, false
	}
	switch e.Status {
	case http.StatusTooManyRequests:
		// A quota that names no end is one that the request never fits into.
		ok = e.Code != ErrQuotaExceeded || e.RetryAfter > 0
	case http.StatusServiceUnavailable:
		// Ours says when nothing was changed; a proxy's says nothing.
		// An application's database that does not answer is for somebody to look at.
		ok = (repeatable || e.Code != "" && !e.FateUnknown) && e.Code != ErrSourceUnavailable
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		ok = repeatable && e.Code != ErrCountTimeout
	case http.StatusConflict:
		ok = e.Code == ErrIdempotencyInProgress
	}
	return e.RetryAfter, ok
}

// brokenError is a try that got no whole answer.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }

func (e *brokenError) Unwrap() error { return e.err }

// untouched reports that no connection came about, so that nothing was sent.
func (e *brokenError) untouched() bool {
	var op *net.OpError
	return errors.As(e.err, &op) && op.Op == "dial"
}

// rest waits, unless the context would end first: then there is no point in
// waiting for it.
func rest(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
