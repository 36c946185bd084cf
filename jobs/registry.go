package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// Shape says how runs of one handler go together.
type Shape uint8

const (
	// Plain runs each job by itself.
	Plain Shape = iota
	// Singleton has one run at a time in the fleet, by a lease in SQL.
	Singleton
	// Superseding ends a run's context when a newer job with its dedupe key was
	// added: the latest wins.
	Superseding
)

// Handling says how a handler's jobs are run. Zero fields have the defaults.
type Handling struct {
	Shape Shape
	// Lane is for jobs that nobody gave one (Fast).
	Lane Lane
	// MaxAttempts is how often a job may run (DefaultTries).
	MaxAttempts int
	// Timeout ends a run's context (DefaultTimeout).
	Timeout time.Duration
	// Backoff is how long to wait after the n-th failed run, n from 1
	// (DefaultBackoff).
	Backoff func(n int) time.Duration
}

// DefaultTimeout is how long a run may take when nobody says otherwise.
const DefaultTimeout = 10 * time.Minute

// DefaultBackoff doubles from 5 seconds to an hour, a fifth more or less.
func DefaultBackoff(n int) time.Duration {
	const first, last = 5 * time.Second, time.Hour
	wait := last
	if n = max(n, 1); n < 12 {
		wait = min(first<<(n-1), last)
	}
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
}

// handler is a registered one.
type handler struct {
	Handling
	run func(ctx context.Context, payload []byte) error
}

// Registry holds handlers by name. Fill it before it is used: it is not safe for
// changes beside a client or a worker.
type Registry struct{ handlers map[string]*handler }

// NewRegistry makes an empty registry.
func NewRegistry() *Registry { return &Registry{handlers: map[string]*handler{}} }

// Handle registers what to do with the jobs of a name. A payload of type []byte is
// given as it is, any other is read as JSON; a job whose payload cannot be read is
// set aside. Runs may repeat: see the package's contract.
func Handle[T any](r *Registry, name string, run func(ctx context.Context, payload T) error, how Handling) error {
	probe := Job{Handler: name, Lane: how.Lane, MaxAttempts: how.MaxAttempts, Timeout: how.Timeout}
	if err := probe.Validate(); err != nil {
		return fmt.Errorf("register handler %q: %w", name, err)
	}
	if run == nil {
		return fmt.Errorf("register handler %q: it has no function", name)
	}
	if _, ok := r.handlers[name]; ok {
		return fmt.Errorf("register handler %q: there is one of that name", name)
	}
	if how.MaxAttempts == 0 {
		how.MaxAttempts = DefaultTries
	}
	if how.Timeout == 0 {
		how.Timeout = DefaultTimeout
	}
	if how.Backoff == nil {
		how.Backoff = DefaultBackoff
	}
	r.handlers[name] = &handler{Handling: how, run: func(ctx context.Context, raw []byte) error {
		payload, err := decodePayload[T](raw)
		if err != nil {
			return GiveUp(fmt.Errorf("read payload: %w", err))
		}
		return run(ctx, payload)
	}}
	return nil
}

func decodePayload[T any](raw []byte) (T, error) {
	var payload T
	if bytes, ok := any(&payload).(*[]byte); ok {
		*bytes = raw
		return payload, nil
	}
	err := json.Unmarshal(raw, &payload)
	return payload, err
}

// New makes a job of a payload: []byte as it is, anything else as JSON.
func New(handler string, payload any) (Job, error) {
	raw, ok := payload.([]byte)
	if !ok {
		var err error
		if raw, err = json.Marshal(payload); err != nil {
			return Job{}, fmt.Errorf("%w: payload: %w", ErrBadJob, err)
		}
	}
	return Job{Handler: handler, Payload: raw}, nil
}
