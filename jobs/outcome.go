package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// GiveUp makes a handler's error final: the job is set aside without more tries.
func GiveUp(err error) error { return &final{err} }

type final struct{ err error }

func (f *final) Error() string { return f.err.Error() }
func (f *final) Unwrap() error { return f.err }

// RetryIn makes a handler's error be followed by a try after a time of its own
// choice, such as a server's Retry-After. The run is charged.
func RetryIn(wait time.Duration, err error) error {
	return &later{err: err, wait: wait, charge: true}
}

// Postpone ends a run that could not begin: it is tried again after a time, and
// the run is not charged.
func Postpone(wait time.Duration, why string) error {
	return &later{err: errors.New(why), wait: wait}
}

type later struct {
	err    error
	wait   time.Duration
	charge bool
}

func (l *later) Error() string { return l.err.Error() }
func (l *later) Unwrap() error { return l.err }

// Outcome is how a run ended, for people and metrics.
type Outcome string

const (
	// Done: it succeeded.
	Done Outcome = "done"
	// Retried: it failed and is tried again.
	Retried Outcome = "retried"
	// Postponed: it did not begin, and comes again uncharged.
	Postponed Outcome = "postponed"
	// SetAside: it will not be tried by itself again.
	SetAside Outcome = "set_aside"
	// Replaced: a newer job took its place.
	Replaced Outcome = "replaced"
	// Abandoned: its lease was lost, and what it did says nothing.
	Abandoned Outcome = "abandoned"
)

// verdictOf is what becomes of a job after its run. It looks at nothing but its
// arguments: attempts counts the runs charged before this one.
func verdictOf(err error, cause error, attempts, most int, backoff func(int) time.Duration) (o Outcome, wait time.Duration, charge bool) {
	var stop *final
	var l *later
	switch {
	case err == nil:
		return Done, 0, false
	case errors.Is(cause, ErrSuperseded):
		return Replaced, 0, false
	case errors.Is(cause, ErrLeaseLost):
		return Abandoned, 0, false
	case errors.Is(cause, ErrClosed):
		// The worker was told to stop: not the job's fault.
		return Postponed, 0, false
	case errors.As(err, &stop):
		return SetAside, 0, true
	case errors.As(err, &l) && !l.charge:
		return Postponed, max(l.wait, time.Millisecond), false
	case attempts+1 >= most:
		return SetAside, 0, true
	case errors.As(err, &l):
		return Retried, max(l.wait, time.Millisecond), true
	default:
		return Retried, max(backoff(attempts+1), time.Millisecond), true
	}
}

// Run is what a handler may know of its job beside the payload.
type Run struct {
	ID      ID
	Handler string
	Kind    Kind
	Lane    Lane
	Group   string
	// Attempt counts from 1. A run that was not charged has the number again.
	Attempt     int
	MaxAttempts int
	EnqueuedAt  time.Time
}

type runKey struct{}

// RunOf is the run whose context it is.
func RunOf(ctx context.Context) (Run, bool) {
	run, ok := ctx.Value(runKey{}).(Run)
	return run, ok
}

// panicked is a run that panicked.
// errGoexit is what becomes of a run whose handler ended its goroutine.
var errGoexit = errors.New("the handler ended its goroutine instead of returning")

func panicked(value any) error { return fmt.Errorf("panic: %v", value) }
