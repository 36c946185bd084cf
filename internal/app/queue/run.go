package queue

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/memhot"
)

// run is until ctx ends.
func (q *Queue) run(ctx context.Context) error {
	switch {
	case q.redis != nil:
		return q.work(ctx, q.hot)
	case q.c.Alone:
		return q.sit(ctx)
	case q.c.Slots == 0:
		<-ctx.Done() // another process has the hot set
		return nil
	}
	return q.standForSeat(ctx)
}

// work drains, hands over, runs jobs and looks for schedules, on one hot set, until
// ctx ends; then it stops in order.
func (q *Queue) work(ctx context.Context, hot jobs.Hot) error {
	drain := jobs.NewDrain(hot, q.c.Outbox, jobs.DrainConfig{Owner: q.c.Owner, Log: q.c.Log})
	q.drains.next(drain)
	defer q.drains.next(nil)
	scheduler := q.scheduler(hot)
	var others sync.WaitGroup
	others.Go(func() { drain.Run(ctx) })
	others.Go(func() { scheduler.Run(ctx) })
	others.Go(func() { q.handover.Run(ctx) })
	defer others.Wait()
	if q.c.Slots == 0 {
		return nil // once the others have ended
	}
	worker, err := jobs.NewWorker(hot, q.c.Outbox, q.c.Registry, jobs.WorkerOptions{
		Name: q.c.Owner, Slots: q.c.Slots, SlowShare: q.c.SlowShare, Observer: q.c.Observer, Log: q.c.Log,
		StopPatience: q.c.StopPatience, FlushPatience: q.c.FlushPatience,
	})
	if err != nil {
		return err
	}
	return worker.Run(ctx)
}

// sit works on a hot set in memory.
func (q *Queue) sit(ctx context.Context) error {
	set, err := memhot.New(q.c.Limits)
	if err != nil {
		return err
	}
	q.seat.take(set)
	defer q.seat.leave()
	err = q.work(ctx, set)
	return errors.Join(err, set.Close())
}

const (
	seatLease = "memory"
	// seatLife is how long the lease outlives a process that is gone, seatBeat how
	// often it is renewed and asked for.
	seatLife = 15 * time.Second
	seatBeat = 3 * time.Second
)

// standForSeat sits whenever no other process does.
func (q *Queue) standForSeat(ctx context.Context) error {
	tick := time.NewTicker(seatBeat)
	defer tick.Stop()
	for {
		_, ours, err := q.c.Outbox.AcquireLease(ctx, seatLease, q.c.Owner, seatLife)
		switch {
		case ours:
			if err := q.term(ctx, time.Now()); err != nil {
				if ctx.Err() != nil {
					return err
				}
				q.c.Log.Error("jobs of this process did not end in order", slog.Any("error", err))
			}
		case err != nil && ctx.Err() == nil:
			q.c.Log.Warn("ask for the lease of who runs jobs", slog.Any("error", err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// term sits while the lease is this process's.
func (q *Queue) term(ctx context.Context, renewed time.Time) error {
	q.c.Log.Info("this process runs the jobs now")
	sitting, leave := context.WithCancel(ctx)
	defer leave()
	var keeping sync.WaitGroup
	keeping.Go(func() {
		defer leave()
		if !q.keepSeat(sitting, renewed) {
			// Another has begun, or will: what is in this set is also its own.
			q.c.Log.Warn("another process runs the jobs now: this one was not heard of for too long")
			q.seat.leave()
		}
	})
	err := q.sit(sitting)
	leave()
	keeping.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if gone := q.c.Outbox.ReleaseLease(last, seatLease, q.c.Owner); gone != nil {
		// It runs out by itself.
		q.c.Log.Warn("the lease of who runs jobs could not be given back", slog.Any("error", gone))
	}
	return err
}

// keepSeat renews the lease until ctx ends, or until it is lost: then it is false.
func (q *Queue) keepSeat(ctx context.Context, renewed time.Time) bool {
	tick := time.NewTicker(seatBeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return true
		case <-tick.C:
		}
		asked := time.Now()
		within, cancel := context.WithDeadline(ctx, renewed.Add(seatLife))
		_, ours, err := q.c.Outbox.AcquireLease(within, seatLease, q.c.Owner, seatLife)
		cancel()
		switch {
		case ctx.Err() != nil:
			return true
		case ours:
			renewed = asked
		case err == nil, time.Since(renewed) >= seatLife:
			return false
		}
	}
}
