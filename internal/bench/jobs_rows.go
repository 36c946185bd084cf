package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/postledger/postledger/internal/bench/cost"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/pgbox"
)

// rowsWorld is a job queue with an empty outbox on PostgreSQL.
type rowsWorld struct {
	*jobsWorld
	db     *sql.DB
	outbox pgbox.Box
	meter  *sql.DB // its backend is not counted
}

func openRows(j *job, limits jobs.Limits) (*rowsWorld, error) {
	ctx := context.Background()
	hot, err := openJobs(j, limits)
	if err != nil {
		return nil, err
	}
	w := &rowsWorld{jobsWorld: hot}
	if w.db, err = sql.Open("pgx", j.URL); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if w.meter, err = sql.Open("pgx", j.URL); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := pgbox.Migrate(ctx, w.db); err != nil {
		return nil, err
	}
	if _, err := w.db.ExecContext(ctx, "TRUNCATE job_outbox"); err != nil {
		return nil, fmt.Errorf("empty the outbox: %w", err)
	}
	w.outbox = pgbox.New(w.db)
	return w, nil
}

func (w *rowsWorld) close() {
	w.jobsWorld.close()
	w.db.Close()
	w.meter.Close()
}

func (w *rowsWorld) source() cost.Source {
	return cost.Together(cost.Redis(w.server), cost.Postgres(w.meter))
}

func (w *rowsWorld) producer(mode jobs.Mode) (*jobs.Client, error) {
	return jobs.NewClient(w.hot, w.outbox, jobs.ClientOptions{Mode: mode})
}

// jobsRows commits a row for each job, and adds it.
func jobsRows(j *job) (r result, err error) {
	return rowsPart(j, room(j), jobs.Always, nil, func(w *rowsWorld, client *jobs.Client) error {
		return w.enqueue(client, j.N)
	})
}

// jobsRowsRun runs jobs whose rows are there until they have finished.
func jobsRowsRun(j *job) (r result, err error) {
	const slots = 500
	fill := func(w *rowsWorld, client *jobs.Client) error { return w.enqueue(client, j.N) }
	return rowsPart(j, room(j), jobs.Always, fill, func(w *rowsWorld, _ *jobs.Client) error {
		return w.run(w.outbox, slots, j.N)
	})
}

// alwaysFull is a hot set that is full at once: its flag is up, and all jobs spill.
func alwaysFull() jobs.Limits { return jobs.Limits{Jobs: 2, SlowShare: 1, FlagLife: time.Hour} }

func jobsSpill(j *job) (r result, err error) {
	fill := func(w *rowsWorld, client *jobs.Client) error { return w.enqueue(client, j.N/10) }
	return rowsPart(j, alwaysFull(), jobs.Overflow, fill, func(w *rowsWorld, client *jobs.Client) error {
		return w.enqueue(client, j.N)
	})
}

// jobsDrain moves rows into a hot set with room for all of them.
func jobsDrain(j *job) (r result, err error) {
	fill := func(w *rowsWorld, _ *jobs.Client) error { return w.write(j.N) }
	return rowsPart(j, room(j), jobs.Overflow, fill, func(w *rowsWorld, _ *jobs.Client) error {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		const chunk = 500
		var drain *jobs.Drain
		drain = jobs.NewDrain(w.hot, w.outbox, jobs.DrainConfig{Owner: "bench", Chunk: chunk, Failpoint: func(name string) {
			if name == "drain: marked" && drain.Stats().Drained+chunk >= int64(j.N) {
				stop()
			}
		}})
		drain.Run(ctx)
		return nil
	})
}

// write makes rows that wait.
func (w *rowsWorld) write(n int) error {
	var ids jobs.IDSource
	for left := n; left > 0; left -= cost.Many {
		rows := make([]jobs.Insertion, min(left, cost.Many))
		for i := range rows {
			now := time.Now()
			job := w.list[i]
			job.ID, job.Lane, job.MaxAttempts = ids.Next(now), jobs.Fast, jobs.DefaultTries
			rows[i].Entry = jobs.Entry{Job: job, Rev: 1, EnqueuedAt: now}
		}
		if _, err := w.outbox.Insert(context.Background(), rows); err != nil {
			return err
		}
	}
	return nil
}

// rowsPart measures fn on an outbox that fill has filled.
func rowsPart(j *job, limits jobs.Limits, mode jobs.Mode, fill, fn func(*rowsWorld, *jobs.Client) error) (r result, err error) {
	w, err := openRows(j, limits)
	if err != nil {
		return r, err
	}
	defer w.close()
	client, err := w.producer(mode)
	if err != nil {
		return r, err
	}
	if fill != nil {
		err = errors.Join(fill(w, client), w.settled())
	}
	if err != nil {
		return r, err
	}
	return used(w.source(), func() error { return fn(w, client) })
}

// settled makes the planner know the table, as it does of one in use.
func (w *rowsWorld) settled() error {
	if _, err := w.db.ExecContext(context.Background(), "VACUUM (ANALYZE) job_outbox"); err != nil {
		return fmt.Errorf("analyze: %w", err)
	}
	return nil
}
