package jobs

import (
	"fmt"
	"time"
)

// Take asks for jobs.
type Take struct {
	// Worker is who asks, for people to read.
	Worker string
	// Max is the most jobs, MaxSlow the most of the slow lane among them.
	Max, MaxSlow int
	// Lease is how long they are the worker's without Extend.
	Lease time.Duration
	// Wait is how long to wait for the first job.
	Wait time.Duration
}

// MaxLease is the longest lease that may be asked for. A deadline further away
// was written under another clock and is brought near.
const MaxLease = 5 * time.Minute

// Validate reports the first field that breaks its rule.
func (t *Take) Validate() error {
	switch {
	case t.Max < 1 || t.Max > MaxTake:
		return fmt.Errorf("take: max is %d, want 1 to %d", t.Max, MaxTake)
	case t.MaxSlow < 0 || t.MaxSlow > t.Max:
		return fmt.Errorf("take: max slow is %d, want 0 to max (%d)", t.MaxSlow, t.Max)
	case t.Lease <= 0 || t.Lease > MaxLease:
		return fmt.Errorf("take: lease is %v, want more than 0 and at most %v", t.Lease, MaxLease)
	}
	return nil
}

// MaxTake bounds one call's answer.
const MaxTake = 500
