package queue

import (
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/jobs"
)

var _ ledger.JobQueue = (*Queue)(nil)

// Place implements ledger.JobQueue, as all of these do.
func (q *Queue) Place(rows []ledger.JobRow) {
	for i := range rows {
		r := &rows[i]
		r.Epoch = q.handover.Epoch(jobs.Scope{Lane: laneOf(r), Group: r.Group})
	}
}

// Wrote hands over what a transaction of the ledger's has committed.
func (q *Queue) Wrote(rows []ledger.JobRow) {
	list := make([]jobs.Insertion, len(rows))
	for i := range rows {
		r := &rows[i]
		list[i] = jobs.Insertion{Epoch: r.Epoch, Entry: jobs.Entry{
			Job: jobs.Job{
				ID: jobs.ID(r.ID), Handler: r.Handler, Lane: laneOf(r), Group: r.Group, Payload: r.Payload,
				RunAt: r.RunAt, MaxAttempts: r.MaxAttempts, Timeout: r.Timeout,
			},
			EnqueuedAt: r.EnqueuedAt,
		}}
	}
	q.handover.Wrote(list)
}

// Unsure has the drain look for jobs that may have been written.
func (q *Queue) Unsure(rows []ledger.JobRow) {
	refs := make([]jobs.Ref, len(rows))
	for i := range rows {
		refs[i] = jobs.Ref{ID: jobs.ID(rows[i].ID), Rev: 1}
	}
	q.handover.Unsure(refs)
}

func laneOf(r *ledger.JobRow) jobs.Lane {
	if r.Slow {
		return jobs.Slow
	}
	return jobs.Fast
}
