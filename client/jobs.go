package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/postledger/postledger"
)

// Job is background work: what follows from mail, or from the clock. Its payload is
// not shown.
type Job struct {
	ID      postledger.ID `json:"id"`
	Handler string        `json:"handler"`
	// State is waiting, scheduled (due later), admitted (where workers get at it,
	// or running) or quarantined (set aside, until somebody decides).
	State string `json:"state"`
	// Lane is fast or slow, Kind adhoc, cron or trigger.
	Lane string `json:"lane"`
	Kind string `json:"kind"`
	// Group is whose work it is.
	Group string `json:"group"`
	// Attempts are runs that failed.
	Attempts     int       `json:"attempts"`
	MaxAttempts  int       `json:"max_attempts"`
	PayloadBytes int       `json:"payload_bytes"`
	EnqueuedAt   time.Time `json:"enqueued_at"`
	ChangedAt    time.Time `json:"changed_at"`
	// RunAt is when it is due; zero is at once.
	RunAt time.Time `json:"run_at"`
	// Reason is why the last run failed, or why it was set aside.
	Reason string `json:"reason"`
}

// JobFilter chooses jobs; fields that are zero choose all.
type JobFilter struct {
	// State is buffered (waiting and scheduled), admitted or quarantined.
	State   string
	Lane    string
	Handler string
	Group   string
	// PageSize is how many one request asks for.
	PageSize int
}

// Jobs lists background work, in the order in which it comes to run: admitted jobs,
// waiting ones by lane and group, scheduled ones by their time, and those set aside.
// A job whose state changes meanwhile may come twice, or not at all. Errors:
// ErrBadInput; scope admin.
func (c *Client) Jobs(ctx context.Context, f JobFilter) iter.Seq2[Job, error] {
	p := parameters{}
	p.text("state", f.State)
	p.text("lane", f.Lane)
	p.text("handler", f.Handler)
	p.text("group", f.Group)
	p.size(f.PageSize)
	return pagesBy[Job](ctx, c, "after", "list jobs", "/v1/jobs", url.Values(p))
}

// Job is one job; one that has finished is gone. Errors: ErrJobUnknown; scope
// admin.
func (c *Client) Job(ctx context.Context, id postledger.ID) (*Job, error) {
	return ask[Job](ctx, c, get("get job", at("/v1/jobs", id.String())))
}

// ChangedJobs says what a decision about jobs did.
type ChangedJobs struct {
	Changed int `json:"changed"`
	// Unchanged are gone, or their state was another.
	Unchanged int `json:"unchanged"`
}

type jobIDs struct {
	IDs    []postledger.ID `json:"ids"`
	Reason string          `json:"reason,omitempty"`
}

func (c *Client) changeJobs(ctx context.Context, verb string, in jobIDs) (*ChangedJobs, error) {
	return ask[ChangedJobs](ctx, c, &call{op: verb + " jobs", method: http.MethodPost, path: "/v1/jobs/" + verb, repeatable: true, in: in})
}

// RetryJobs makes jobs due now that are due later, and takes those back that were
// set aside. At most 1,000 ids. Errors: ErrBadInput; scope admin.
func (c *Client) RetryJobs(ctx context.Context, ids ...postledger.ID) (*ChangedJobs, error) {
	return c.changeJobs(ctx, "retry", jobIDs{IDs: ids})
}

// ReleaseJobs takes jobs back that were set aside: they run again, with fresh
// attempts. At most 1,000 ids. Errors: ErrBadInput; scope admin.
func (c *Client) ReleaseJobs(ctx context.Context, ids ...postledger.ID) (*ChangedJobs, error) {
	return c.changeJobs(ctx, "release", jobIDs{IDs: ids})
}

// QuarantineJobs sets jobs aside until they are released. The reason is for people.
// At most 1,000 ids. Errors: ErrBadInput; scope admin.
func (c *Client) QuarantineJobs(ctx context.Context, reason string, ids ...postledger.ID) (*ChangedJobs, error) {
	return c.changeJobs(ctx, "quarantine", jobIDs{IDs: ids, Reason: reason})
}

// JobLane is one lane of background work.
type JobLane struct {
	// Waiting are rows that wait for room, OldestSeconds for how long the oldest
	// has.
	Waiting       int64   `json:"waiting"`
	OldestSeconds float64 `json:"oldest_seconds"`
	// Hot are jobs where workers get at them, or running.
	Hot      int   `json:"hot"`
	HotBytes int64 `json:"hot_bytes"`
}

// JobQueue is how background work is.
type JobQueue struct {
	// Driver is memory or redis.
	Driver string `json:"driver"`
	// Reached tells whether what is hot is known to the server that was asked;
	// Fault why not, when it should be.
	Reached     bool    `json:"reached"`
	Fault       string  `json:"fault"`
	Fast        JobLane `json:"fast"`
	Slow        JobLane `json:"slow"`
	Active      int     `json:"active"`
	Scheduled   int64   `json:"scheduled"`
	Admitted    int64   `json:"admitted"`
	Quarantined int64   `json:"quarantined"`
}

// JobQueue counts background work. Scope admin.
func (c *Client) JobQueue(ctx context.Context) (*JobQueue, error) {
	return ask[JobQueue](ctx, c, get("get job queue", "/v1/jobs/queue"))
}

// Schedule makes jobs by the clock.
type Schedule struct {
	Name string `json:"name"`
	// Spec is a cron expression, Zone whose clock it goes by.
	Spec    string    `json:"spec"`
	Zone    string    `json:"zone"`
	Enabled bool      `json:"enabled"`
	Handler string    `json:"handler"`
	Lane    string    `json:"lane"`
	NextAt  time.Time `json:"next_at"`
	LastAt  time.Time `json:"last_at"`
}

// Schedules lists what makes jobs by the clock. Scope admin.
func (c *Client) Schedules(ctx context.Context) ([]Schedule, error) {
	p, err := ask[page[Schedule]](ctx, c, get("list schedules", "/v1/jobs/schedules"))
	if err != nil {
		return nil, err
	}
	return p.Items, nil
}

// EnableSchedule switches a schedule on, from now on, or off. Errors:
// ErrScheduleUnknown; scope admin.
func (c *Client) EnableSchedule(ctx context.Context, name string, enabled bool) error {
	verb := "disable"
	if enabled {
		verb = "enable"
	}
	return c.do(ctx, &call{op: verb + " schedule", method: http.MethodPost, path: at("/v1/jobs/schedules", name) + "/" + verb, repeatable: true})
}

// ScheduleRun names the job that a schedule has made.
type ScheduleRun struct {
	Job postledger.ID `json:"job"`
}

// RunSchedule makes a schedule's job now. It is not repeated by
// itself when its answer is lost: there would be two jobs. Errors:
// ErrScheduleUnknown; scope admin.
func (c *Client) RunSchedule(ctx context.Context, name string) (*ScheduleRun, error) {
	return ask[ScheduleRun](ctx, c, &call{op: "run schedule", method: http.MethodPost, path: at("/v1/jobs/schedules", name) + "/run"})
}
