package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/jobs"
)

// Jobs is what an operator sees and decides of background work.
type Jobs interface {
	ListJobs(ctx context.Context, q jobs.Query) (rows []jobs.Row, next string, err error)
	Job(ctx context.Context, id jobs.ID) (jobs.Row, error)
	// Retry makes jobs due now that wait for later or were set aside; Release
	// takes those that were set aside back. All tell how many have changed.
	Retry(ctx context.Context, ids []jobs.ID) (int, error)
	Release(ctx context.Context, ids []jobs.ID) (int, error)
	Quarantine(ctx context.Context, ids []jobs.ID, reason string) (int, error)

	Schedules(ctx context.Context) ([]jobs.Schedule, error)
	EnableSchedule(ctx context.Context, name string, enabled bool) error
	RunSchedule(ctx context.Context, name string) (jobs.ID, error)

	JobQueue(ctx context.Context) (JobQueue, error)
}

// JobQueue is how background work is.
type JobQueue struct {
	Driver  string
	Backlog jobs.Backlog
	// Hot is nil where another process has it, or it cannot be reached.
	Hot   *jobs.Depth
	Fault string
}

// jobView is a job without its payload and its dedupe key: those may hold what
// belongs to an app, such as addresses, and no decision needs them.
type jobView struct {
	ID           postledger.ID `json:"id"`
	Handler      string        `json:"handler" doc:"What it does."`
	State        string        `json:"state" enum:"waiting,scheduled,admitted,quarantined" doc:"scheduled: due later. admitted: where workers get at it, or running. quarantined: set aside, until somebody decides."`
	Lane         string        `json:"lane" enum:"fast,slow"`
	Kind         string        `json:"kind" enum:"adhoc,cron,trigger"`
	Group        string        `json:"group,omitempty" doc:"Whose work it is."`
	Attempts     int           `json:"attempts" doc:"Runs that failed."`
	MaxAttempts  int           `json:"max_attempts"`
	PayloadBytes int           `json:"payload_bytes" doc:"The payload itself is not shown."`
	EnqueuedAt   time.Time     `json:"enqueued_at"`
	ChangedAt    time.Time     `json:"changed_at" doc:"When its state last changed."`
	RunAt        time.Time     `json:"run_at,omitzero" doc:"When it is due, if not at once."`
	Reason       string        `json:"reason,omitempty" doc:"Why the last run failed, or why it was set aside."`
}

type listJobsInput struct {
	State   string `query:"state" enum:"buffered,admitted,quarantined" doc:"buffered are waiting and scheduled ones."`
	Lane    string `query:"lane" enum:"fast,slow"`
	Handler string `query:"handler"`
	Group   string `query:"group"`
	After   string `query:"after" doc:"The next of the page before."`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

type jobsView struct {
	Items []jobView `json:"items"`
	Next  string    `json:"next,omitempty" doc:"The after of the next page."`
}

type jobInput struct {
	ID postledger.ID `path:"id"`
}

type jobsRequest struct {
	IDs []postledger.ID `json:"ids" minItems:"1" maxItems:"1000"`
}

type quarantineRequest struct {
	IDs    []postledger.ID `json:"ids" minItems:"1" maxItems:"1000"`
	Reason string          `json:"reason" doc:"Why, for people." example:"the receiver asks for it"`
}

type jobsChangedView struct {
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged" doc:"There is no such job any more, or its state was another."`
}

type laneView struct {
	Waiting       int64   `json:"waiting" doc:"Rows that wait for room."`
	OldestSeconds float64 `json:"oldest_seconds" doc:"For how long the oldest of them has waited."`
	Hot           int     `json:"hot" doc:"Jobs where workers get at them, or running."`
	HotBytes      int64   `json:"hot_bytes"`
}

type jobQueueView struct {
	Driver      string   `json:"driver" enum:"memory,redis"`
	Reached     bool     `json:"reached" doc:"Whether hot is known here. With driver memory it is where the jobs run."`
	Fault       string   `json:"fault,omitempty"`
	Fast        laneView `json:"fast"`
	Slow        laneView `json:"slow"`
	Active      int      `json:"active" doc:"Jobs that run."`
	Scheduled   int64    `json:"scheduled" doc:"Rows that are due later."`
	Admitted    int64    `json:"admitted" doc:"Rows of jobs that are hot."`
	Quarantined int64    `json:"quarantined" doc:"Rows that were set aside."`
}

func (s *server) jobRoutes() {
	read(s, jobRoute(http.MethodGet, "/v1/jobs", "list-jobs", "List jobs",
		"Background work, in the order in which it comes to run: admitted jobs, waiting ones by lane and group, scheduled ones by their time, and those set aside. "+
			"A page may be short or empty and still have a next one; a job whose state changes between two pages may come twice, or not at all. "+
			"Payloads are not shown: they may hold what belongs to an app.", codeBadInput), s.listJobs)
	read(s, jobRoute(http.MethodGet, "/v1/jobs/queue", "get-job-queue", "See how background work is",
		"Counts the rows, which takes a moment when many wait."), s.jobQueue)
	read(s, jobRoute(http.MethodGet, "/v1/jobs/{id}", "get-job", "See a job", "A job that has finished is gone.", codeJobUnknown), s.getJob)
	write(s, jobRoute(http.MethodPost, "/v1/jobs/retry", "retry-jobs", "Try jobs now",
		"Those that are due later are due now, and those that were set aside are taken back with fresh attempts.", codeBadInput),
		func(ctx context.Context, c *call, _ *struct{}, body *jobsRequest) (jobsChangedView, error) {
			return s.changeJobs(ctx, c, "job.retry", body.IDs, s.Jobs.Retry)
		})
	write(s, jobRoute(http.MethodPost, "/v1/jobs/release", "release-jobs", "Take jobs back that were set aside",
		"They run again, with fresh attempts.", codeBadInput),
		func(ctx context.Context, c *call, _ *struct{}, body *jobsRequest) (jobsChangedView, error) {
			return s.changeJobs(ctx, c, "job.release", body.IDs, s.Jobs.Release)
		})
	write(s, jobRoute(http.MethodPost, "/v1/jobs/quarantine", "quarantine-jobs", "Set jobs aside",
		"They do not run until they are released, and are removed after a time. One that runs already is not stopped.", codeBadInput), s.quarantineJobs)
}

// jobRoute is one of an operator.
func jobRoute(method, path, id, summary, text string, codes ...Code) route {
	rt := admin(method, path, id, summary, text)
	rt.tag, rt.codes = tagJobs, codes
	return rt
}

// jobState tells rows apart that wait for room from those that wait for their
// time.
func jobState(r *jobs.Row) string {
	switch {
	case r.State != jobs.Buffered:
		return string(r.State)
	case r.RunAt.After(time.Now()):
		return "scheduled"
	}
	return "waiting"
}

func viewJob(r *jobs.Row) jobView {
	return jobView{
		ID: postledger.ID(r.ID), Handler: r.Handler, State: jobState(r), Lane: string(r.Lane), Kind: r.Kind.String(), Group: r.Group,
		Attempts: r.Attempts, MaxAttempts: r.MaxAttempts, PayloadBytes: len(r.Payload),
		EnqueuedAt: r.EnqueuedAt, ChangedAt: r.ChangedAt, RunAt: r.RunAt, Reason: r.Reason,
	}
}

func (s *server) listJobs(ctx context.Context, _ *call, in *listJobsInput) (jobsView, error) {
	rows, next, err := s.Jobs.ListJobs(ctx, jobs.Query{
		State: jobs.State(in.State), Lane: jobs.Lane(in.Lane), Handler: in.Handler, Group: in.Group, After: in.After, Limit: in.Limit,
	})
	if errors.Is(err, jobs.ErrBadCursor) {
		return jobsView{}, field("after", accept.RuleSyntax, "is not the next of a page of this list")
	}
	return jobsView{Items: viewList(rows, viewJob).Items, Next: next}, err
}

func (s *server) getJob(ctx context.Context, _ *call, in *jobInput) (jobView, error) {
	row, err := s.Jobs.Job(ctx, jobs.ID(in.ID))
	if err != nil {
		return jobView{}, err
	}
	return viewJob(&row), nil
}

func (s *server) quarantineJobs(ctx context.Context, c *call, _ *struct{}, body *quarantineRequest) (jobsChangedView, error) {
	if body.Reason == "" {
		return jobsChangedView{}, field("reason", accept.RuleRequired, "is missing")
	}
	if err := checkText("reason", body.Reason); err != nil {
		return jobsChangedView{}, err
	}
	return s.changeJobs(ctx, c, "job.quarantine", body.IDs, func(ctx context.Context, ids []jobs.ID) (int, error) {
		return s.Jobs.Quarantine(ctx, ids, body.Reason)
	})
}

// mostJobs is how many ids one decision may name.
const mostJobs = 1000

func (s *server) changeJobs(ctx context.Context, c *call, action string, asked []postledger.ID, change func(context.Context, []jobs.ID) (int, error)) (jobsChangedView, error) {
	seen, ids := map[postledger.ID]bool{}, make([]jobs.ID, 0, len(asked))
	for _, id := range asked {
		if !seen[id] {
			seen[id], ids = true, append(ids, jobs.ID(id))
		}
	}
	switch {
	case len(ids) == 0:
		return jobsChangedView{}, field("ids", accept.RuleRequired, "is missing")
	case len(asked) > mostJobs:
		return jobsChangedView{}, field("ids", accept.RuleRange, "has more than 1,000 ids")
	}
	e := c.audit(s.Ledger.NewID(), action, "job", "")
	if len(ids) == 1 {
		e.TargetID = ids[0].String()
	} else {
		e.Detail = fmt.Sprintf("%d jobs", len(ids))
	}
	if err := s.Ledger.AppendAudit(ctx, e); err != nil {
		return jobsChangedView{}, err
	}
	n, err := change(ctx, ids)
	return jobsChangedView{n, len(ids) - n}, err
}

func (s *server) jobQueue(ctx context.Context, _ *call, _ *struct{}) (jobQueueView, error) {
	q, err := s.Jobs.JobQueue(ctx)
	v := jobQueueView{
		Driver: q.Driver, Reached: q.Hot != nil, Fault: q.Fault,
		Scheduled: q.Backlog.Scheduled, Admitted: q.Backlog.Admitted, Quarantined: q.Backlog.Quarantined,
	}
	for lane, to := range map[jobs.Lane]*laneView{jobs.Fast: &v.Fast, jobs.Slow: &v.Slow} {
		to.Waiting, to.OldestSeconds = q.Backlog.Buffered[lane], q.Backlog.Oldest[lane].Seconds()
		if q.Hot != nil {
			to.Hot, to.HotBytes = q.Hot.Of(lane).Jobs, q.Hot.Of(lane).Bytes
			v.Active = q.Hot.Active
		}
	}
	return v, err
}
