package jobs

import "time"

// Observer is told what happens, for metrics. Its methods are called from many
// goroutines and must not block.
type Observer interface {
	// Enqueued counts jobs that were accepted; spilled are those of them that
	// became rows because the hot set had no room or could not be reached.
	Enqueued(lane Lane, accepted, spilled int)
	// Unavailable counts calls that found the hot set out of reach.
	Unavailable()
	// Ran tells a run's end: how long the job waited before it, and how long it
	// took.
	Ran(handler string, lane Lane, outcome Outcome, waited, took time.Duration)
}

// unobserved is nobody's.
type unobserved struct{}

func (unobserved) Enqueued(Lane, int, int)                                 {}
func (unobserved) Unavailable()                                            {}
func (unobserved) Ran(string, Lane, Outcome, time.Duration, time.Duration) {}
