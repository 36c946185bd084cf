package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// ClientOptions say how a client hands jobs over. Zero fields have the defaults.
type ClientOptions struct {
	// Mode says when a job gets a row (Always). Always needs an outbox.
	Mode Mode
	// Registry gives the defaults of handlers that this process knows.
	Registry *Registry
	// Lanes are the lanes of handlers whose jobs name none; they come before the
	// handlers' own.
	Lanes map[string]Lane
	// MaxBacklog refuses jobs while the outbox holds more (no bound).
	MaxBacklog Ceiling
	// Wake is told when rows were written that wait: the drain's.
	Wake func()
	// HotTimeout bounds a call of the hot set (2 s). After a failure the set is
	// left alone for HotPause (1 s).
	HotTimeout, HotPause time.Duration
	Observer             Observer
	Log                  *slog.Logger
}

// Client hands jobs over. It is safe for concurrent use.
type Client struct {
	hot    Hot
	outbox Outbox
	o      ClientOptions
	ids    IDSource
	reach  reach
	load   ceiling
	spills spillIDs
	adding *trouble

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
}

// NewClient makes a client. The outbox may be nil in mode Overflow: then what has
// no room is refused with ErrOverloaded, and nothing can be due later than
// HotHorizon.
func NewClient(hot Hot, outbox Outbox, o ClientOptions) (*Client, error) {
	switch {
	case hot == nil:
		return nil, errors.New("job client: no hot set")
	case outbox == nil && o.Mode == Always:
		return nil, fmt.Errorf("job client: mode always: %w", ErrNoOutbox)
	}
	for name, lane := range o.Lanes {
		if !lane.Valid() {
			return nil, fmt.Errorf("job client: lane of %s is %q, want fast or slow", name, string(lane))
		}
	}
	if o.HotTimeout == 0 {
		o.HotTimeout = 2 * time.Second
	}
	if o.HotPause == 0 {
		o.HotPause = time.Second
	}
	if o.Registry == nil {
		o.Registry = NewRegistry()
	}
	if o.Wake == nil {
		o.Wake = func() {}
	}
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Lanes = maps.Clone(o.Lanes)
	return &Client{
		hot: hot, outbox: outbox, o: o,
		reach:  reach{hot: hot, pause: o.HotPause, blind: map[Scope]int{}},
		load:   ceiling{outbox: outbox, most: o.MaxBacklog},
		adding: newTrouble(o.Log, "the hot set cannot be reached"),
	}, nil
}

// Enqueue hands one job over. It returns nil when the job is accepted: it is in
// the hot set, or its row is committed. The id is the job's also when there is an
// error: enqueueing the job again under it is safe.
func (c *Client) Enqueue(ctx context.Context, job Job) (ID, error) {
	ids, err := c.EnqueueMany(ctx, []Job{job})
	if len(ids) == 0 {
		return ID{}, err
	}
	return ids[0], err
}

// EnqueueMany hands a list over, in its order. When it fails, a part may have been
// accepted: the ids are those of all jobs, and the same list may be enqueued again
// with them. A list with a bad job is refused as a whole, and has no ids.
func (c *Client) EnqueueMany(ctx context.Context, list []Job) ([]ID, error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
	defer c.calls.Done()
	entries, ids, err := c.entries(list)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	routes := map[Route][]Entry{}
	for i := range entries {
		e := &entries[i]
		route := RouteOf(c.o.Mode, e.Kind, e.Bypass, e.RunAt, now)
		e.Durable = c.o.Mode == Always
		routes[route] = append(routes[route], *e)
	}
	return ids, errors.Join(
		c.schedule(ctx, routes[RouteSchedule]),
		c.rows(ctx, routes[RouteRow]),
		c.spillable(ctx, routes[RouteSpill]),
		c.direct(ctx, routes[RouteDirect]),
	)
}

// EnqueueTx writes jobs into the caller's transaction: they exist when and only
// when it commits, and are durable in every mode. Call Committed afterwards, or
// the drain finds them by itself within two seconds.
func (c *Client) EnqueueTx(ctx context.Context, tx Tx, list ...Job) ([]ID, error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
	defer c.calls.Done()
	if c.outbox == nil {
		return nil, fmt.Errorf("enqueue in a transaction: %w", ErrNoOutbox)
	}
	entries, ids, err := c.entries(list)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	for i := range entries {
		entries[i].Durable = true
	}
	if err := c.load.check(ctx); err != nil {
		return ids, err
	}
	if err := c.outbox.InsertTx(ctx, tx, entries); err != nil {
		return ids, fmt.Errorf("enqueue in a transaction: %w", err)
	}
	c.observe(entries, 0)
	return ids, nil
}

// Committed says that a transaction with jobs was committed.
func (c *Client) Committed() { c.o.Wake() }

// Close refuses further jobs and waits for the calls that are under way, until ctx
// ends. An outbox that is a Spiller is closed with it: it writes what it has
// accumulated, and its error says how many rows it could not write.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	idle := make(chan struct{})
	go func() { c.calls.Wait(); close(idle) }() // ends with the last call
	select {
	case <-idle:
	case <-ctx.Done():
	}
	var err error
	if spiller, ok := c.outbox.(*Spiller); ok {
		err = spiller.Close(ctx)
	}
	select {
	case <-idle:
	default:
		err = errors.Join(err, fmt.Errorf("close job client: calls are under way: %w", context.Cause(ctx)))
	}
	return err
}

func (c *Client) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.calls.Add(1)
	return nil
}

// entries checks all jobs before anything changes, and fills what they leave open.
func (c *Client) entries(list []Job) ([]Entry, []ID, error) {
	now := time.Now()
	entries, ids := make([]Entry, len(list)), make([]ID, len(list))
	for i := range list {
		job := list[i]
		if err := job.Validate(); err != nil {
			if len(list) > 1 {
				err = fmt.Errorf("job %d: %w", i, err)
			}
			return nil, nil, err
		}
		if job.ID.IsZero() {
			job.ID = c.ids.Next(now)
		}
		how := Handling{MaxAttempts: DefaultTries}
		if h := c.o.Registry.handlers[job.Handler]; h != nil {
			how = h.Handling
		}
		job.Lane = ResolveLane(job.Lane, c.o.Lanes[job.Handler], how.Lane)
		if job.MaxAttempts == 0 {
			job.MaxAttempts = how.MaxAttempts
		}
		ids[i] = job.ID
		entries[i] = Entry{Job: job, Rev: 1, EnqueuedAt: now}
	}
	return entries, ids, nil
}

func (c *Client) observe(entries []Entry, spilled int) {
	byLane := map[Lane]int{}
	for i := range entries {
		byLane[entries[i].Lane]++
	}
	for lane, n := range byLane {
		c.o.Observer.Enqueued(lane, n, min(spilled, n))
		spilled -= min(spilled, n)
	}
}
