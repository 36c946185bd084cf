package jobs

import (
	"context"
	"time"
)

// Hot is the hot set: the bounded number of jobs that workers can take at once.
// Drivers are jobs/memhot and jobs/redishot; jobs/hottest is what a driver
// must pass.
//
// Everything it holds counts against its limits: waiting, active, and delayed.
// Each method is atomic for each job it names, and Add for its whole call as far
// as the order is concerned: what is answered Spilled is followed by Spilled in
// the same scope until the flag is cleared.
//
// An error means that the fate of what was asked is unknown, unless the method
// says otherwise. Errors of a set that cannot be reached wrap ErrUnavailable.
type Hot interface {
	// Add puts jobs in, in their order, and answers one Admission for each. On an
	// error the jobs whose fate is not known are Unanswered.
	//
	// A job with a dedupe key takes the place of the one with its key that waits,
	// when neither is durable; when one is, the new one is Withheld (or Spilled,
	// if it has no row), so that no row is forgotten. Runs of older jobs with the key are Superseded, unless
	// the new job was Spilled or refused.
	Add(ctx context.Context, add Add) ([]Admission, error)
	// Settle says that the rows of these spills are committed, or will never be.
	Settle(ctx context.Context, spills []SpillID) error

	// Take leases jobs to a worker, the fast lane first, each lane in order. It
	// first brings back what is due and what lost workers held. It waits up to
	// take.Wait for the first job. It may return fewer than there are.
	Take(ctx context.Context, take Take) ([]*Held, error)
	// Ack removes finished jobs, payload and all. Jobs whose lease was lost are
	// not touched; the answer tells which were removed.
	Ack(ctx context.Context, held []*Held) ([]bool, error)
	// Return ends leases without finishing the jobs: they wait again, or are
	// delayed. Lost leases are not touched; the answer tells which were returned.
	Return(ctx context.Context, returns []Return) ([]bool, error)
	// Extend keeps leases for life from now and tells what became of each.
	Extend(ctx context.Context, held []*Held, life time.Duration) ([]Verdict, error)

	// Depth counts what the set holds.
	Depth(ctx context.Context) (Depth, error)
	// Contains tells which jobs the set holds, under any revision.
	Contains(ctx context.Context, ids []ID) ([]bool, error)
	// AwaitRoom returns when the lane is below its low water, or when ctx ends
	// (which is no error). It may return too early.
	AwaitRoom(ctx context.Context, lane Lane) error
	// Hold keeps a group out of the set until a moment: Add answers Spilled for
	// its jobs, and Withheld to the drain. A moment in the past ends it.
	Hold(ctx context.Context, group string, until time.Time) error

	// Flags are the flags that are raised.
	Flags(ctx context.Context) ([]Flag, error)
	// Raise sets flags that are not set, for the limits' FlagLife. Those that are
	// set keep their number and first start, and live for another FlagLife.
	Raise(ctx context.Context, scopes []Scope) error
	// Renew gives flags another FlagLife, if they are still the same ones. One
	// that has been cleared or has expired is not set again.
	Renew(ctx context.Context, flags []Flag) error
	// Clear takes a flag down, if it is still the same one, nothing was spilled
	// under it since it was read, no spill is pending, and its lane is below its
	// low water. The scopes in keep have rows left that may not be admitted:
	// their flags are raised in the same step. The answer tells whether it is
	// down.
	Clear(ctx context.Context, flag Flag, keep []Scope) (bool, error)

	// Epoch names this set's life. It changes when the set lost what it held.
	Epoch(ctx context.Context) (string, error)
	// Close ends what the driver runs. A memory set is lost with it.
	Close() error
}

// Limits bound a hot set. Zero fields have the defaults.
type Limits struct {
	// Jobs is the most that may be held (10,000). Jobs that may not spill can use
	// a tenth more, so that a backlog does not refuse cron jobs.
	Jobs int
	// Bytes is the most by Entry.HotCost (64 MiB), with the same reserve.
	Bytes int64
	// SlowShare is the slow lane's part of both (0.5): fast work finds room
	// however much slow work waits.
	SlowShare float64
	// GroupShare is the most jobs of one group (500).
	GroupShare int
	// LowWater is the part of a bound below which rows are drained again (0.8).
	LowWater float64
	// FlagLife is how long a flag, or a pending spill, lives without renewal
	// (60 s): when the drain or a producer dies, overflow ends by itself.
	FlagLife time.Duration
}

// Add is one call's jobs.
type Add struct {
	Entries []Entry
	// Spill names this call: when the answer has a Spilled job, the set counts a
	// pending spill under it in each scope that spilled, until Settle or FlagLife.
	// A zero SpillID registers nothing.
	Spill SpillID
	// Raise are the scopes in which this producer wrote rows while it could not
	// reach the set: their flags go up first.
	Raise []Scope
	// Drain: the jobs are rows, oldest first. Flags do not stop them; nothing is
	// flagged, and what has no room is answered Full or Withheld.
	Drain bool
}

// SpillID names an Add whose spills are pending.
type SpillID [16]byte

// Admission is what became of a job that was to be added.
type Admission uint8

const (
	// Unanswered: the call failed, and the job may be in or not.
	Unanswered Admission = iota
	// Added: the set holds it.
	Added
	// Duplicate: the set holds this revision already, or a newer one.
	Duplicate
	// Spilled: it has to wait in the outbox, behind the rows of its scope.
	Spilled
	// Full: to the drain, its lane has no room; to a job that may not spill, the
	// reserve is used up.
	Full
	// Withheld: to the drain, its group has its share or is held; to a durable
	// job, an older one with its dedupe key, or another revision of it, is still
	// in the set. Its row waits, others may go on.
	Withheld
)

// String is for messages and tests.
func (a Admission) String() string {
	return [...]string{"unanswered", "added", "duplicate", "spilled", "full", "withheld"}[a]
}

// Held is a job under a worker's lease.
type Held struct {
	Entry
	// Token is the lease's. A job that was lost and taken again has another.
	Token int64
	// Cost is what the set counts it for: the driver's own.
	Cost int64
	// Superseded: a newer job with the same dedupe key was added while an
	// earlier run of this one was going on. It must not run again.
	Superseded bool
	// Broken says why the record could not be read; Payload is then the raw
	// record, and only ID, Lane, Token and Cost are set beside it.
	Broken error
}

// Return ends a lease without finishing.
type Return struct {
	*Held
	// Delay is how long until it may be taken again, at most HotHorizon: it then
	// joins the end of its lane. Zero puts it in front, where it came from.
	Delay time.Duration
	// Charge counts the run as an attempt.
	Charge bool
}

// Verdict is what Extend found.
type Verdict uint8

const (
	// Kept: the lease goes on.
	Kept Verdict = iota
	// Lost: the job is another's, finished, or the set lost it.
	Lost
	// Superseded: the lease goes on, but a newer job with the same dedupe key
	// was added.
	Superseded
)

// Depth counts what a hot set holds. Jobs and Bytes are what its limits bound.
type Depth struct {
	Jobs    int
	Bytes   int64
	Fast    LaneDepth
	Slow    LaneDepth
	Active  int
	Delayed int
}

// LaneDepth counts one lane.
type LaneDepth struct {
	// Jobs and Bytes count waiting, active and delayed jobs.
	Jobs  int
	Bytes int64
	// Waiting jobs can be taken.
	Waiting int
	// Below tells whether the lane is below its low water.
	Below bool
}

// Of is one lane's part.
func (d Depth) Of(lane Lane) LaneDepth {
	if lane == Slow {
		return d.Slow
	}
	return d.Fast
}

// Scope is where order is kept: a lane's plain jobs, or a group's in a lane.
type Scope struct {
	Lane  Lane
	Group string
}

// Scope is the order that the job is in.
func (j *Job) Scope() Scope { return Scope{Lane: j.Lane, Group: j.Group} }

// Flag is a scope's overflow: while it is raised, new jobs of the scope spill. A
// lane's flag (no group) stops all jobs of the lane.
type Flag struct {
	Scope
	// Number tells one raising from the next.
	Number int64
	// Since is when it was first raised; renewals keep it.
	Since time.Time
	// Spills counts the calls that spilled under it, Pending those whose rows
	// are not committed yet.
	Spills  int64
	Pending int
}
