package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// DrainLease is the lease's name under which one process of the fleet drains.
const DrainLease = "drain"

// DrainConfig is how rows are drained. Zero fields have the defaults.
type DrainConfig struct {
	// Owner names this process; it must be another for each start.
	Owner string
	// Chunk is the most rows of one step (500), ChunkBytes their payloads (1 MiB).
	// Between two steps others have their turn with the database and the hot set.
	Chunk      int
	ChunkBytes int64
	// GroupChunk is how many rows a group gets in its turn beside many (50): with few
	// the chunk is shared between them.
	GroupChunk int
	// Idle is how long to wait when there is nothing to do (2 s).
	Idle time.Duration
	// LeaseLife is how long the lease lives without renewal (15 s).
	LeaseLife time.Duration
	// Beat is how often flags are renewed (15 s): well within Limits.FlagLife.
	Beat time.Duration
	// Sweep is how often admitted rows are looked for in the hot set (30 s), of
	// those that were admitted longer than LostAge ago (1 min).
	Sweep, LostAge time.Duration
	// Refusals is how often a row may fail to be admitted before it is set aside
	// (5).
	Refusals int
	// Watch is how often the backlog is counted (10 s), Late the age of overflow
	// from which it is warned of (5 min), once in that time.
	Watch, Late time.Duration
	Log         *slog.Logger
	// Failpoint, when it is set, is called at named moments, for tests that stop
	// the drain there.
	Failpoint func(name string)
}

func (c DrainConfig) withDefaults() DrainConfig {
	c.Chunk = orElse(c.Chunk, 500)
	c.ChunkBytes = orElse(c.ChunkBytes, 1<<20)
	c.GroupChunk = orElse(c.GroupChunk, 50)
	c.Idle = orElse(c.Idle, 2*time.Second)
	c.LeaseLife = orElse(c.LeaseLife, 15*time.Second)
	c.Beat = orElse(c.Beat, 15*time.Second)
	c.Sweep = orElse(c.Sweep, 30*time.Second)
	c.LostAge = orElse(c.LostAge, time.Minute)
	c.Refusals = orElse(c.Refusals, 5)
	c.Watch = orElse(c.Watch, 10*time.Second)
	c.Late = orElse(c.Late, 5*time.Minute)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Failpoint == nil {
		c.Failpoint = func(string) {}
	}
	return c
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Drain moves rows into the hot set while there is room, one process of the fleet
// at a time. A row is touched only under the (id, rev) that was read. What dies
// in the middle of a step leaves the row and the hot job: the next drain adds it
// again, is told that it is there, and marks the row.
type Drain struct {
	hot    Hot
	outbox Outbox
	config DrainConfig
	wake   chan struct{} // of capacity 1

	drained, refused, rebuffered atomic.Int64
	backlog                      atomic.Pointer[Backlog]
}

// NewDrain makes a drain; Run runs it.
func NewDrain(hot Hot, outbox Outbox, config DrainConfig) *Drain {
	return &Drain{hot: hot, outbox: outbox, config: config.withDefaults(), wake: make(chan struct{}, 1)}
}

// Wake makes the drain look at once, for a process that has just written rows.
func (d *Drain) Wake() { signal(d.wake) }

// DrainStats are counts since the start of this process, and the backlog as it
// was last counted here (nil when another process drains).
type DrainStats struct {
	Drained, Refused, Rebuffered int64
	Backlog                      *Backlog
}

// Stats are for metrics.
func (d *Drain) Stats() DrainStats {
	return DrainStats{d.drained.Load(), d.refused.Load(), d.rebuffered.Load(), d.backlog.Load()}
}

// Run drains until ctx ends, and gives the lease back then. What fails is logged
// and tried again.
func (d *Drain) Run(ctx context.Context) {
	p := newPass(d)
	draining := newTrouble(d.config.Log, "the drain of waiting jobs was interrupted")
	defer d.release(ctx)
	for ctx.Err() == nil {
		began := time.Now()
		wait := d.config.Idle
		holds, err := p.holds(ctx)
		if err == nil && holds {
			wait, err = p.run(ctx)
		}
		if !holds {
			d.backlog.Store(nil)
		}
		switch {
		case err == nil:
			draining.works()
		case ctx.Err() == nil:
			draining.fails(err)
			wait = d.config.Idle
		}
		if p.left {
			// Whoever writes rows behind others that wait may not make the drain look
			// for each of them.
			within(ctx.Done(), min(wait, leastPause-time.Since(began)))
		}
		d.pause(ctx, wait-time.Since(began))
	}
}

// leastPause is between the beginnings of two passes while rows stay that wait for
// room.
const leastPause = 50 * time.Millisecond

func (d *Drain) pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.wake:
	case <-ctx.Done():
	}
}

// releaseMost bounds giving the lease back. What is not given back keeps the next
// process waiting for the rest of the lease's life.
const releaseMost = 2 * time.Second

// release is given a moment of its own: ctx has ended.
func (d *Drain) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseMost)
	defer cancel()
	if err := d.outbox.ReleaseLease(ctx, DrainLease, d.config.Owner); err != nil {
		// It runs out by itself.
		d.config.Log.Warn("the drain's lease could not be given back", slog.Any("error", err))
	}
}

// errLeaseGone ends a pass whose lease is another's by now.
var errLeaseGone = errors.New("another process drains")

// pass is what one drain knows from pass to pass.
type pass struct {
	*Drain
	epoch     string
	own       lease
	beaten    time.Time
	swept     time.Time
	watched   time.Time
	warned    time.Time
	cursor    map[Lane]string // the last group that had its turn
	fruitless int             // passes in a row that moved few rows, or none
	left      bool            // rows stayed in the last pass that are due
	ripened   time.Time
}

func newPass(d *Drain) *pass {
	return &pass{
		Drain: d, cursor: map[Lane]string{},
		own: lease{outbox: d.outbox, name: DrainLease, owner: d.config.Owner, life: d.config.LeaseLife},
	}
}

// holds tells whether the lease is this drain's, and renews it in time.
func (p *pass) holds(ctx context.Context) (bool, error) {
	holds, err := p.own.holds(ctx)
	if err != nil {
		return false, fmt.Errorf("acquire the drain's lease: %w", err)
	}
	if !holds {
		p.epoch = "" // what another does meanwhile is not known
	}
	return holds, nil
}

// tend renews what must live through a long pass.
func (p *pass) tend(ctx context.Context) error {
	holds, err := p.holds(ctx)
	if err == nil && !holds {
		err = errLeaseGone
	}
	if err != nil {
		return err
	}
	if time.Since(p.beaten) > p.config.Beat {
		flags, err := p.hot.Flags(ctx)
		if err == nil {
			err = p.hot.Renew(ctx, flags)
		}
		if err != nil {
			return fmt.Errorf("renew flags: %w", err)
		}
		p.beaten = time.Now()
	}
	return nil
}

// run is one pass over both lanes. It tells how long to wait before the next.
func (p *pass) run(ctx context.Context) (time.Duration, error) {
	if err := p.watch(ctx); err != nil {
		return 0, err
	}
	if err := p.recover(ctx); err != nil {
		return 0, err
	}
	if err := p.ripen(ctx); err != nil {
		return 0, err
	}
	left, moved := false, 0
	var full []Lane
	for _, lane := range Lanes {
		end, err := p.lane(ctx, lane)
		if err != nil {
			return 0, err
		}
		left, moved = left || end.left, moved+end.moved
		if end.full {
			full = append(full, lane)
		}
	}
	p.left = left
	return p.next(ctx, left, moved, full), nil
}

// ripenEach is how often rows are looked for that have become due.
const ripenEach = 200 * time.Millisecond

// ripen makes rows wait that have become due.
func (p *pass) ripen(ctx context.Context) error {
	if time.Since(p.ripened) < min(ripenEach, p.config.Idle) {
		return nil
	}
	for {
		n, err := p.outbox.Ripen(ctx, ripenMost)
		if err != nil {
			return err
		}
		if n < ripenMost {
			p.ripened = time.Now()
			return nil
		}
		if err := p.tend(ctx); err != nil {
			return err
		}
	}
}

// ripenMost is how many scheduled rows one step makes wait.
const ripenMost = 1000

// next decides how long to wait. Where rows wait for room, room wakes the drain;
// rows that wait for their group's share are looked at again soon, and less soon
// while none of them moves, or so few that a pass costs more than they do.
func (p *pass) next(ctx context.Context, left bool, moved int, full []Lane) time.Duration {
	const few, soon = 100, 2
	switch {
	case !left:
		p.fruitless = 0
		return p.config.Idle
	case moved == 0:
		p.fruitless++
	case moved < few:
		p.fruitless = min(p.fruitless+1, soon)
	default:
		p.fruitless = 0
	}
	if len(full) == len(Lanes) || len(full) == 1 && moved == 0 {
		waiting, cancel := context.WithTimeout(ctx, p.config.Idle)
		defer cancel()
		_ = p.hot.AwaitRoom(waiting, full[0]) // an error shows again in the next pass
		return 0
	}
	return min(p.config.Idle, 10*time.Millisecond<<min(p.fruitless, 8))
}

// watch counts the backlog and says when overflow lasts.
func (p *pass) watch(ctx context.Context) error {
	if time.Since(p.watched) < p.config.Watch {
		return nil
	}
	backlog, err := p.outbox.Backlog(ctx)
	if err != nil {
		return err
	}
	p.watched = time.Now()
	p.Drain.backlog.Store(&backlog)
	if backlog.Oldest[Fast] < p.config.Late && backlog.Oldest[Slow] < p.config.Late || time.Since(p.warned) < p.config.Late {
		return nil
	}
	p.warned = p.watched
	depth, err := p.hot.Depth(ctx)
	if err != nil {
		return fmt.Errorf("look at the hot set: %w", err)
	}
	p.config.Log.Warn("jobs overflow for long: workers do not keep up",
		slog.Int64("fast_rows", backlog.Buffered[Fast]), slog.Duration("fast_oldest", backlog.Oldest[Fast]),
		slog.Int64("slow_rows", backlog.Buffered[Slow]), slog.Duration("slow_oldest", backlog.Oldest[Slow]),
		slog.Int64("scheduled_rows", backlog.Scheduled), slog.Int64("quarantined_rows", backlog.Quarantined),
		slog.Int("hot_jobs", depth.Jobs), slog.Int64("hot_bytes", depth.Bytes), slog.Int64("drained_here", p.drained.Load()))
	return nil
}
