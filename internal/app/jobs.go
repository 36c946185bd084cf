package app

import (
	"context"
	"fmt"
	"time"

	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/app/queue"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/pgbox"
	"github.com/postledger/postledger/jobs/sqlitebox"
)

// OpenOutbox is the job queue's way to its rows in the ledger's database. The
// caller closes it before the ledger.
func OpenOutbox(l *ledger.Ledger, connections int) (jobs.Outbox, func() error) {
	if l.SQLite() {
		write := func(ctx context.Context, body func(context.Context, sqlitebox.Querier) error) error {
			return l.WriteBeside(ctx, func(ctx context.Context, q ledger.Querier) error { return body(ctx, q) })
		}
		return sqlitebox.NewWith(l.Readers(), write), func() error { return nil }
	}
	pool := l.PoolBeside(connections)
	return pgbox.New(pool), pool.Close
}

// makeQueue makes the job queue, with what its jobs do.
func (a *App) makeQueue(ctx context.Context) error {
	c := &a.config.Jobs
	outbox, closeOutbox := OpenOutbox(a.ledger, c.Connections)
	a.onUndo(closeOutbox)
	registry, err := a.handlers(outbox)
	if err != nil {
		return err
	}
	id, err := a.ledger.LedgerID(ctx)
	if err != nil {
		return err
	}
	owner := a.ledger.NewID().String()
	if a.ledger.SQLite() {
		// Its leases are of one process, whatever that was called before.
		owner = "embedded"
	}
	qc := queue.Config{
		Outbox: outbox, Registry: registry, Limits: c.Limits(), Name: queueName(id.String()),
		Alone: a.ledger.SQLite(), Owner: owner, Slots: c.Slots, SlowShare: c.SlowShare(),
		MaxBacklog: jobs.Ceiling{Rows: c.MaxBacklog, Age: c.MaxBacklogAge}, Schedules: schedules(),
		// What is stopped beside it has half of the time.
		StopPatience: a.config.StopTimeout / 4, FlushPatience: a.config.StopTimeout / 8,
		Observer: a.metrics.JobObserver(), Log: a.log,
	}
	if c.Driver == config.RedisDriver {
		if qc.Redis, err = c.RedisOptions(); err != nil {
			return err
		}
	}
	if a.queue, err = queue.New(qc); err != nil {
		return err
	}
	a.onUndo(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return a.queue.Stop(ctx)
	})
	a.ledger.SetJobQueue(a.queue)
	a.metrics.JobDrain(a.queue.DrainStats)
	return nil
}

// queueName keeps the queues of several ledgers on one Redis apart.
func queueName(ledger string) string { return "postledger:" + ledger }

// sampleQueue reads the queue's gauges, and looks at Redis's policy again: that may
// be another Redis by now.
func (a *App) sampleQueue(ctx context.Context) {
	s := a.queue.State(ctx)
	overflow := time.Duration(0)
	if !s.OverflowSince.IsZero() {
		overflow = max(time.Since(s.OverflowSince), 0)
	}
	a.metrics.HotJobs(s.Depth, overflow)
	a.metrics.JobBacklog(s.Backlog)
	if s.Fault == nil {
		// What it finds is in its log; Redis is asked again in ten seconds.
		_, _ = a.queue.CheckPolicy(ctx)
	}
}

// queueReady says in readyz how the queue is. Nothing of it keeps mail from being
// taken and sent.
func (a *App) queueReady(ctx context.Context) (says, warning string) {
	s := a.queue.State(ctx)
	switch {
	case s.Fault != nil:
		return s.Driver, fmt.Sprintf("what is hot cannot be reached, and jobs wait in the ledger's database: %v", s.Fault)
	case s.Depth == nil:
		return s.Driver + ": another process runs the jobs", ""
	}
	says = fmt.Sprintf("%s: %d jobs are hot, %d of them run", s.Driver, s.Depth.Jobs, s.Depth.Active)
	if b := s.Backlog; b != nil {
		says += fmt.Sprintf("; %d wait, %d are for later, %d are set aside", b.Rows()-b.Scheduled, b.Scheduled, b.Quarantined)
	}
	warning, err := a.queue.CheckPolicy(ctx)
	if err != nil {
		warning = err.Error()
	}
	return says, warning
}
