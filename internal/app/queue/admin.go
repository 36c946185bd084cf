package queue

import (
	"context"

	"github.com/postledger/postledger/internal/api"
	"github.com/postledger/postledger/jobs"
)

var _ api.Jobs = (*Queue)(nil)

// ListJobs implements api.Jobs, as all of these do.
func (q *Queue) ListJobs(ctx context.Context, query jobs.Query) (rows []jobs.Row, next string, err error) {
	return q.c.Outbox.List(ctx, query)
}

// Job is a job's row.
func (q *Queue) Job(ctx context.Context, id jobs.ID) (jobs.Row, error) {
	return q.c.Outbox.Get(ctx, id)
}

// Retry makes jobs due now that are due later or were set aside.
func (q *Queue) Retry(ctx context.Context, ids []jobs.ID) (int, error) {
	defer q.Wake()
	hurried, err := q.c.Outbox.Hurry(ctx, ids)
	if err != nil {
		return 0, err
	}
	released, err := q.c.Outbox.Release(ctx, ids)
	return hurried + released, err
}

// Release takes jobs back that were set aside.
func (q *Queue) Release(ctx context.Context, ids []jobs.ID) (int, error) {
	defer q.Wake()
	return q.c.Outbox.Release(ctx, ids)
}

// Quarantine sets jobs aside.
func (q *Queue) Quarantine(ctx context.Context, ids []jobs.ID, reason string) (int, error) {
	return q.c.Outbox.Quarantine(ctx, ids, reason)
}

// Schedules are what makes jobs by the clock.
func (q *Queue) Schedules(ctx context.Context) ([]jobs.Schedule, error) {
	return q.c.Outbox.ListSchedules(ctx)
}

// EnableSchedule switches a schedule on or off.
func (q *Queue) EnableSchedule(ctx context.Context, name string, enabled bool) error {
	return q.admin.Enable(ctx, name, enabled)
}

// RunSchedule makes a schedule's job now.
func (q *Queue) RunSchedule(ctx context.Context, name string) (jobs.ID, error) {
	return q.admin.Trigger(ctx, name)
}

// JobQueue counts what waits and what is hot.
func (q *Queue) JobQueue(ctx context.Context) (api.JobQueue, error) {
	backlog, err := q.c.Outbox.Backlog(ctx)
	if err != nil {
		return api.JobQueue{}, err
	}
	s := q.State(ctx)
	answer := api.JobQueue{Driver: s.Driver, Backlog: backlog, Hot: s.Depth}
	if s.Fault != nil {
		answer.Fault = s.Fault.Error()
	}
	return answer, nil
}
