package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// WorkerOptions say how a worker runs jobs. Zero fields have the defaults.
type WorkerOptions struct {
	// Name is for people to read; it need not be unique.
	Name string
	// Slots is how many jobs run at a time (10); SlowShare the part of them that
	// slow jobs may use (0.5), at least one.
	Slots     int
	SlowShare float64
	// Lease is for how long a job is this worker's when the worker is not heard
	// of (30 s, at most MaxLease).
	Lease time.Duration
	// StopPatience is how long running jobs may go on when the worker is told to
	// stop (30 s); after it their contexts end. FlushPatience is how long it then
	// tries to write what became of them (10 s).
	StopPatience, FlushPatience time.Duration
	Observer                    Observer
	Log                         *slog.Logger
	// Failpoint, when it is set, is called at named moments, for tests that stop
	// the worker there.
	Failpoint func(name string)
}

func (o WorkerOptions) withDefaults() WorkerOptions {
	if o.Slots == 0 {
		o.Slots = 10
	}
	if o.SlowShare == 0 {
		o.SlowShare = 0.5
	}
	if o.Lease == 0 {
		o.Lease = 30 * time.Second
	}
	if o.StopPatience == 0 {
		o.StopPatience = 30 * time.Second
	}
	if o.FlushPatience == 0 {
		o.FlushPatience = 10 * time.Second
	}
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Failpoint == nil {
		o.Failpoint = func(string) {}
	}
	return o
}

func (o *WorkerOptions) validate() error {
	switch {
	case o.Slots < 1 || o.Slots > MaxTake:
		return fmt.Errorf("worker: slots is %d, want 1 to %d", o.Slots, MaxTake)
	case o.SlowShare < 0 || o.SlowShare > 1:
		return fmt.Errorf("worker: slow share is %v, want more than 0 and at most 1", o.SlowShare)
	case o.Lease < 100*time.Millisecond || o.Lease > MaxLease:
		return fmt.Errorf("worker: lease is %v, want 100ms to %v", o.Lease, MaxLease)
	case o.StopPatience < 0 || o.FlushPatience < 0:
		return errors.New("worker: patience is negative")
	}
	return nil
}

// Worker takes jobs from the hot set and runs their handlers.
//
// Its goroutines: one takes, one keeps leases, one writes what became of jobs, and
// one for each running job, at most Slots. Run owns them all.
type Worker struct {
	hot      Hot
	outbox   Outbox
	registry *Registry
	o        WorkerOptions
	owner    string // of the leases of singletons
	slots    *slots
	held     held
	ends     chan *ending
	// What fails as long as a server is gone.
	taking, keeping, writing *trouble
}

// NewWorker makes a worker. The outbox may be nil: then a job that is set aside is
// logged and dropped, a retry is due within HotHorizon, and there are no
// singletons.
func NewWorker(hot Hot, outbox Outbox, registry *Registry, o WorkerOptions) (*Worker, error) {
	o = o.withDefaults()
	if hot == nil || registry == nil {
		return nil, errors.New("worker: it needs a hot set and a registry")
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	if outbox == nil {
		for name, h := range registry.handlers {
			if h.Shape == Singleton {
				return nil, fmt.Errorf("worker: handler %s is a singleton: %w", name, ErrNoOutbox)
			}
		}
	}
	var ids IDSource
	return &Worker{
		hot: hot, outbox: outbox, registry: registry, o: o,
		owner: ids.Next(time.Now()).String(),
		slots: newSlots(o.Slots, max(int(float64(o.Slots)*o.SlowShare), 1)),
		held:  held{jobs: map[heldKey]*running{}, single: map[string]bool{}},
		// As many as can end while the writer is busy: then runs keep their slots.
		ends:    make(chan *ending, o.Slots),
		taking:  newTrouble(o.Log, "take jobs"),
		keeping: newTrouble(o.Log, "keep leases"),
		writing: newTrouble(o.Log, "write what became of jobs"),
	}, nil
}

// Run works until ctx ends, and then stops in order: it takes no more, lets what
// runs finish, writes what became of it, and returns the rest to the front. It
// returns an error when something could not be written; those jobs run again.
// A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	// Jobs outlive ctx until the patience is over.
	jobsCtx, endJobs := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endJobs(nil)
	// Leases are kept until the last end is written.
	beatCtx, endBeat := context.WithCancel(context.WithoutCancel(ctx))
	var beating, running sync.WaitGroup
	beating.Go(func() { w.beat(beatCtx) })
	defer beating.Wait()
	defer endBeat()

	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	written := make(chan error, 1)
	go func() { written <- w.writeEnds(stopping) }()

	w.takeUntil(ctx, jobsCtx, &running)

	idle := make(chan struct{})
	go func() { running.Wait(); close(idle) }()
	if !within(idle, w.o.StopPatience) {
		w.o.Log.Warn("jobs still run: their contexts end now", slog.Int("jobs", w.held.count()))
		endJobs(ErrClosed)
		// A handler that does not look at its context holds up the stop no longer
		// than one that does may.
		if !within(idle, w.o.FlushPatience) {
			n := w.held.count()
			w.o.Log.Error("jobs do not end: their leases run out and they run again", slog.Int("jobs", n))
			stop()
			return errors.Join(fmt.Errorf("stop worker: %d jobs did not end", n), w.abandon(written))
		}
	}
	close(w.ends)
	stop()
	if err := <-written; err != nil {
		return fmt.Errorf("stop worker: %w", err)
	}
	return nil
}

// abandon lets the writer write what has ended, beside jobs that never do: their
// ends, should they come, are read and thrown away by nobody, since the channel
// has room for each slot.
func (w *Worker) abandon(written <-chan error) error {
	w.ends <- nil
	return <-written
}

func within(done <-chan struct{}, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

const (
	// takeWait bounds one Take: how long the wish to stop may wait for it.
	takeWait = 100 * time.Millisecond
	// fullWait is how often a worker whose slow slots are all in use looks for fast
	// jobs. It waits here and not in Take, which knows nothing of a slow slot that
	// becomes free.
	fullWait = 25 * time.Millisecond
)

func (w *Worker) takeUntil(ctx, jobsCtx context.Context, running *sync.WaitGroup) {
	pause := time.Duration(0)
	for {
		most, slow, ok := w.slots.free(ctx)
		if !ok {
			return
		}
		wait := takeWait
		if slow == 0 {
			wait = 0
		}
		held, err := w.hot.Take(ctx, Take{Worker: w.o.Name, Max: most, MaxSlow: slow, Lease: w.o.Lease, Wait: wait})
		if err != nil {
			pause = min(max(2*pause, 50*time.Millisecond), time.Second)
			w.taking.fails(err)
			if within(ctx.Done(), pause) {
				return
			}
			continue
		}
		pause = 0
		w.taking.works()
		if len(held) == 0 && slow == 0 {
			w.slots.await(ctx, fullWait)
			continue
		}
		for _, h := range held {
			w.slots.use(h.Lane)
			r := w.held.add(jobsCtx, h, w.registry.handlers[h.Handler])
			running.Go(func() {
				w.run(r, func(end *ending) {
					// The writer owns it now; the slot is another's when the writer
					// has room for it.
					w.ends <- end
					w.slots.release(h.Lane)
				})
			})
		}
	}
}
