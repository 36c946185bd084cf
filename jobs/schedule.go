package jobs

import (
	"context"
	"time"
)

// Schedule makes jobs by the clock.
type Schedule struct {
	Name string
	// Spec is a cron expression of five fields, or a descriptor like @daily. The
	// zone is not a part of it.
	Spec string
	// Zone is an IANA name; empty means UTC. A local time that occurs twice runs
	// once; one that is skipped runs at the next valid moment.
	Zone    string
	Enabled bool
	// The job: handler, payload, lane, attempts and timeout as in Job.
	Handler     string
	Payload     []byte
	Lane        Lane
	MaxAttempts int
	Timeout     time.Duration
	// NextAt is when it runs next, LastAt when it ran last.
	NextAt, LastAt time.Time
}

// Schedules are kept in SQL.
type Schedules interface {
	// SaveSchedule inserts a schedule or replaces the one of its name.
	SaveSchedule(ctx context.Context, s Schedule) error
	// RemoveSchedule fails with ErrUnknownSchedule, as GetSchedule does.
	RemoveSchedule(ctx context.Context, name string) error
	GetSchedule(ctx context.Context, name string) (Schedule, error)
	// ListSchedules orders by name.
	ListSchedules(ctx context.Context) ([]Schedule, error)
	// DueSchedules are enabled and due, the longest due first.
	DueSchedules(ctx context.Context, limit int) ([]Schedule, error)
	// FireSchedule moves NextAt from one moment to another, sets LastAt to at and
	// inserts the job, in one transaction, if the schedule is enabled and nobody
	// else did: it is false then. A schedule's moment makes one job in the fleet.
	FireSchedule(ctx context.Context, name string, from, at, to time.Time, job Insertion) (bool, error)
}
