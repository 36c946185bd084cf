package accept

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/postledger/postledger"
)

// flights joins requests with the same app and key while the first of them is
// under way, so that racers take no database connection.
type flights struct {
	mu sync.Mutex
	m  map[flightKey]*flight
	n  int
}

type flightKey struct {
	app postledger.ID
	key string
}

type flight struct {
	print string
	done  chan struct{}
	out   Receipt
	err   error
	// left says that the leader went away, which is its own affair.
	left bool
}

// maxFlights bounds the requests that fly or wait for one that does. Each is a
// goroutine of the server anyway; beyond this many something else is wrong.
const maxFlights = 8192

var errLeaderLost = errors.New("the request that led the race ended without an answer")

func newFlights() *flights { return &flights{m: map[flightKey]*flight{}} }

// do runs fn, or waits for the racer that runs it. Others with the same
// fingerprint get its answer as a replay; those with another one are refused
// once it has succeeded. When it failed, its key is free again: who waited
// tries by itself, unless the failure is the same for everyone.
func (f *flights) do(ctx context.Context, k flightKey, print string, fn func() (Receipt, error)) (Receipt, error) {
	f.mu.Lock()
	if f.n >= maxFlights {
		f.mu.Unlock()
		return Receipt{}, &BusyError{CodeOverloaded, time.Second}
	}
	f.n++
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.n--
		f.mu.Unlock()
	}()
	for {
		f.mu.Lock()
		lead := f.m[k]
		if lead == nil {
			lead = &flight{print: print, done: make(chan struct{}), err: errLeaderLost}
			f.m[k] = lead
			f.mu.Unlock()
			return f.lead(ctx, k, lead, fn)
		}
		f.mu.Unlock()
		select {
		case <-lead.done:
		case <-ctx.Done():
			return Receipt{}, &UnavailableError{Err: ctx.Err()}
		}
		switch {
		case lead.err == nil && lead.print == print:
			out := lead.out
			out.Replayed, out.Removed = true, nil
			return out, nil
		case lead.err == nil:
			return Receipt{}, &MismatchError{Other: -1}
		case lead.print == print && !lead.left && common(lead.err):
			return Receipt{}, lead.err
		}
	}
}

// lead ends the flight also when fn panics: nobody may wait for ever.
func (f *flights) lead(ctx context.Context, k flightKey, l *flight, fn func() (Receipt, error)) (Receipt, error) {
	defer func() {
		f.mu.Lock()
		delete(f.m, k)
		f.mu.Unlock()
		close(l.done)
	}()
	l.out, l.err = fn()
	l.left = ctx.Err() != nil
	return l.out, l.err
}

// common reports whether a failure would be every racer's. Its own API key and
// attachment stream are the leader's alone. That the ledger did not answer in
// time is everybody's: each would else wait for as long, one after the other.
func common(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	switch CodeOf(err) {
	case CodeQuota, CodeBacklog, CodeOverloaded, CodeNoProfile, CodeProfile, CodeNotAllowed, CodeRemoved, CodeGone, CodeMismatch, CodeUnavailable:
		return true
	default:
		return false
	}
}
