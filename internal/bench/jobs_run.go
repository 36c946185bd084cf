package main

import (
	"context"
	"sync/atomic"

	"github.com/postledger/postledger/internal/bench/cost"
	"github.com/postledger/postledger/jobs"
)

// jobsRun runs jobs that do nothing from Redis alone, in as many slots as asynq has,
// until the last is acknowledged.
func jobsRun(j *job) (r result, err error) {
	w, err := openJobs(j, room(j))
	if err != nil {
		return r, err
	}
	defer w.close()
	client, err := jobs.NewClient(w.hot, nil, jobs.ClientOptions{Mode: jobs.Overflow})
	if err != nil {
		return r, err
	}
	if err := w.enqueue(client, j.N); err != nil {
		return r, err
	}
	const slots = 50
	return used(cost.Redis(w.server), func() error { return w.run(nil, slots, j.N) })
}

// run works until so many jobs have run and are acknowledged.
func (w *jobsWorld) run(outbox jobs.Outbox, slots, n int) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var ran atomic.Int64
	registry := jobs.NewRegistry()
	err := jobs.Handle(registry, "noop", func(context.Context, []byte) error {
		if ran.Add(1) == int64(n) {
			stop()
		}
		return nil
	}, jobs.Handling{})
	if err != nil {
		return err
	}
	worker, err := jobs.NewWorker(w.hot, outbox, registry, jobs.WorkerOptions{Slots: slots})
	if err != nil {
		return err
	}
	return worker.Run(ctx)
}
