package audience

import (
	"context"
	"errors"
	"time"
)

// Observer hears of counts.
type Observer interface {
	// Counted is told of each that was asked for when it is over: how it ended, how
	// many rows it had read, and how long it took.
	Counted(outcome Outcome, rows int64, took time.Duration)
}

// Outcome is how a count ended.
type Outcome string

// The ways in which counts end.
const (
	OutcomeDone        Outcome = "done"
	OutcomeRefused     Outcome = "refused"     // the audience or its parameters are not good
	OutcomeBusy        Outcome = "busy"        // as many ran as may
	OutcomeUnavailable Outcome = "unavailable" // the source did not answer as it should
	OutcomeTooLong     Outcome = "too_long"
	OutcomeGone        Outcome = "gone" // its caller went away
	OutcomeStopped     Outcome = "stopped"
	OutcomeFailed      Outcome = "failed" // by a fault of ours: the ledger or the disk
)

// outcomeOf tells how a count for a caller ended.
func outcomeOf(ctx context.Context, err error) Outcome {
	var wrong *InvalidError
	var down *UnavailableError
	switch {
	case err == nil:
		return OutcomeDone
	case errors.Is(err, ErrBusy):
		return OutcomeBusy
	case errors.Is(err, ErrStopped):
		return OutcomeStopped
	case ctx.Err() != nil:
		return OutcomeGone
	case errors.Is(err, ErrTooLong):
		return OutcomeTooLong
	case errors.As(err, &wrong):
		return OutcomeRefused
	case errors.As(err, &down):
		return OutcomeUnavailable
	}
	return OutcomeFailed
}

// nobody hears nothing.
type nobody struct{}

func (nobody) Counted(Outcome, int64, time.Duration) {}
