package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/redishot"
)

// Config is what a queue is made of.
type Config struct {
	// Outbox keeps the rows, Registry says what to do.
	Outbox   jobs.Outbox
	Registry *jobs.Registry
	Limits   jobs.Limits
	// Redis, unless nil, is the server or cluster that holds what is hot, under Name.
	// All processes of a ledger have the same.
	Redis *redis.UniversalOptions
	Name  string
	// Alone: no other process uses the outbox.
	Alone bool
	// Owner names this process; it is another for each start.
	Owner string
	// Slots is how many jobs run here at a time; with 0 none do.
	Slots      int
	SlowShare  float64
	MaxBacklog jobs.Ceiling
	// Schedules are those that this binary has. Whether one is enabled is kept
	// from when it was first saved.
	Schedules []jobs.Schedule
	// StopPatience is how long running jobs may go on when the queue stops,
	// FlushPatience how long what became of them is tried to be written.
	StopPatience, FlushPatience time.Duration
	Observer                    jobs.Observer
	Log                         *slog.Logger
}

// Queue is one process's part in the job queue.
type Queue struct {
	c        Config
	redis    redis.UniversalClient // or nil
	hot      jobs.Hot              // Redis's set, or seat
	seat     *seat                 // memory's set, while this process has one
	client   *jobs.Client
	admin    *jobs.Scheduler
	handover *jobs.Handover
	drains   drains
	policy   policy

	stop sync.Once
	end  context.CancelFunc
	done chan error // closed by the one goroutine that runs everything
}

// New makes a queue. It asks nobody anything.
func New(c Config) (*Queue, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	q := &Queue{c: c, done: make(chan error, 1)}
	if c.Redis != nil {
		q.redis = redis.NewUniversalClient(options(c.Redis))
		set, err := redishot.New(q.redis, c.Name, c.Limits)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make job queue: %w", err), q.redis.Close())
		}
		q.hot = set
	} else {
		if err := c.Limits.WithDefaults().Validate(); err != nil {
			return nil, fmt.Errorf("make job queue: %w", err)
		}
		q.seat = &seat{}
		q.hot = q.seat
	}
	var err error
	q.client, err = jobs.NewClient(q.hot, jobs.NewSpiller(c.Outbox, jobs.SpillConfig{}), jobs.ClientOptions{
		Mode: jobs.Always, Registry: c.Registry, MaxBacklog: c.MaxBacklog, Wake: q.Wake, Observer: c.Observer, Log: c.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("make job queue: %w", err)
	}
	q.handover = jobs.NewHandover(q.client, nil)
	q.admin = q.scheduler(q.hot)
	return q, nil
}

// options are how Redis is spoken to. Its answers are waited for no longer than
// who asks can wait.
func options(o *redis.UniversalOptions) *redis.UniversalOptions {
	own := *o
	own.ClientName = "postledger"
	own.ContextTimeoutEnabled = true
	if own.DialTimeout == 0 {
		own.DialTimeout = 2 * time.Second
	}
	// One for the taker, the writer of ends, the leases, the drain and the
	// scheduler each, and the rest for who hands jobs over.
	if own.PoolSize == 0 {
		own.PoolSize = 16
	}
	return &own
}

// Start saves the schedules and starts everything that the queue runs.
func (q *Queue) Start(ctx context.Context) error {
	for _, s := range q.c.Schedules {
		before, err := q.c.Outbox.GetSchedule(ctx, s.Name)
		switch {
		case err == nil:
			s.Enabled = before.Enabled
		case !errors.Is(err, jobs.ErrUnknownSchedule):
			return fmt.Errorf("read schedule %s: %w", s.Name, err)
		}
		if err := q.admin.Save(ctx, s); err != nil {
			return fmt.Errorf("save schedule %s: %w", s.Name, err)
		}
	}
	running, end := context.WithCancel(context.Background())
	q.end = end
	go func() { q.done <- q.run(running) }()
	return nil
}

// Stop stops in order, and waits for everything that Start started. When ctx ends
// before, what is not written by then is told; those jobs run again. A second Stop
// does nothing.
func (q *Queue) Stop(ctx context.Context) (err error) {
	q.stop.Do(func() { err = q.stopOnce(ctx) })
	return err
}

func (q *Queue) stopOnce(ctx context.Context) error {
	var err error
	if q.end != nil {
		q.end()
		// Its own patience bounds it.
		err = <-q.done
	}
	err = errors.Join(err, q.client.Close(ctx))
	if q.redis != nil {
		err = errors.Join(err, q.redis.Close())
	}
	if err != nil {
		return fmt.Errorf("stop job queue: %w", err)
	}
	return nil
}

// Client hands jobs over.
func (q *Queue) Client() *jobs.Client { return q.client }

// Outbox has the rows.
func (q *Queue) Outbox() jobs.Outbox { return q.c.Outbox }

// Wake says that rows were written that wait.
func (q *Queue) Wake() {
	if drain := q.drains.current(); drain != nil {
		drain.Wake()
	}
}

// Hold keeps a group's jobs out of the hot set until a moment: they wait in their
// rows, and take nobody's room.
func (q *Queue) Hold(ctx context.Context, group string, until time.Time) error {
	if err := q.hot.Hold(ctx, group, until); err != nil {
		return fmt.Errorf("hold a group of jobs: %w", err)
	}
	return nil
}

func (q *Queue) scheduler(hot jobs.Hot) *jobs.Scheduler {
	return jobs.NewScheduler(hot, q.c.Outbox, jobs.SchedulerConfig{Owner: q.c.Owner, Wake: q.Wake, Log: q.c.Log})
}
