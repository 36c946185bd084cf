package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/bench/cost"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/redishot"
)

// jobsWorld is a job queue on an empty Redis with room for every job of the run.
type jobsWorld struct {
	server *redis.Client
	hot    *redishot.Set
	list   []jobs.Job
}

func openJobs(j *job, limits jobs.Limits) (*jobsWorld, error) {
	options, err := redis.ParseURL(j.Redis)
	if err != nil {
		return nil, fmt.Errorf("read the Redis URL: %w", err)
	}
	w := &jobsWorld{server: redis.NewClient(options), list: make([]jobs.Job, cost.Many)}
	for i := range w.list {
		w.list[i] = jobs.Job{Handler: "noop", Payload: make([]byte, cost.Payload)}
	}
	if err := w.server.FlushAll(context.Background()).Err(); err != nil {
		return nil, fmt.Errorf("empty Redis: %w", err)
	}
	w.hot, err = redishot.New(w.server, "bench", limits)
	return w, err
}

func (w *jobsWorld) close() { w.server.Close() }

// room is a hot set's that never fills in a run.
func room(j *job) jobs.Limits { return jobs.Limits{Jobs: 2*j.N + 10_000, Bytes: 8 << 30, SlowShare: 1} }

// enqueue hands over many jobs, as many at a time as the list has.
func (w *jobsWorld) enqueue(client *jobs.Client, n int) error {
	for left := n; left > 0; left -= len(w.list) {
		if _, err := client.EnqueueMany(context.Background(), w.list[:min(left, len(w.list))]); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
	}
	return nil
}

// jobsOne hands over one job at a time from one goroutine.
func jobsOne(j *job) (result, error) {
	return jobsEnqueue(j, func(w *jobsWorld, client *jobs.Client, n int) error {
		for range n {
			if _, err := client.Enqueue(context.Background(), w.list[0]); err != nil {
				return fmt.Errorf("enqueue: %w", err)
			}
		}
		return nil
	})
}

func jobsMany(j *job) (result, error) { return jobsEnqueue(j, (*jobsWorld).enqueue) }

func jobsEnqueue(j *job, enqueue func(*jobsWorld, *jobs.Client, int) error) (r result, err error) {
	w, err := openJobs(j, room(j))
	if err != nil {
		return r, err
	}
	defer w.close()
	client, err := jobs.NewClient(w.hot, nil, jobs.ClientOptions{Mode: jobs.Overflow})
	if err != nil {
		return r, err
	}
	if err := enqueue(w, client, j.N/10); err != nil {
		return r, err
	}
	return used(cost.Redis(w.server), func() error { return enqueue(w, client, j.N) })
}

// used is what fn used.
func used(source cost.Source, fn func() error) (r result, err error) {
	m, err := cost.Start(source)
	if err != nil {
		return r, err
	}
	if err := fn(); err != nil {
		return r, err
	}
	u, err := m.Stop()
	return result{Seconds: u.Seconds, Self: u.Self, Server: u.Server}, err
}
