package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// check is one thing a process needs in order to take and send mail.
type check struct {
	name string
	run  func(context.Context) error
}

// note is something that is good to know, and that keeps no mail waiting.
type note struct {
	name string
	look func(context.Context) (says, warning string)
}

// readiness answers whether a process can take and send mail. Answers are kept
// for a second: who asks must not decide how often the ledger is asked.
type readiness struct {
	checks []check
	notes  []note

	mu       sync.Mutex
	stopping bool
	at       time.Time
	results  []Result
}

// Result is the answer of one check. Without a fault it is good; a warning makes
// nothing unready.
type Result struct {
	Name    string `json:"name"`
	Fault   string `json:"fault,omitempty"`
	Warning string `json:"warning,omitempty"`
	Says    string `json:"says,omitempty"`
}

const (
	readyAge     = time.Second
	readyTimeout = 5 * time.Second
)

var errStopping = errors.New("the server stops")

// stop makes every later answer a refusal, so that no new requests are sent here.
func (r *readiness) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
}

// Ready is nil, or what is wrong.
func (r *readiness) Ready(ctx context.Context) error {
	results, stopping := r.all(ctx)
	if stopping {
		return errStopping
	}
	var faults []error
	for _, res := range results {
		if res.Fault != "" {
			faults = append(faults, fmt.Errorf("%s: %s", res.Name, res.Fault))
		}
	}
	return errors.Join(faults...)
}

// all runs the checks, one after the other: each is a look-up.
func (r *readiness) all(ctx context.Context) ([]Result, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.results != nil && time.Since(r.at) < readyAge {
		return r.results, r.stopping
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	results := make([]Result, len(r.checks))
	for i, c := range r.checks {
		results[i].Name = c.name
		if err := c.run(ctx); err != nil {
			results[i].Fault = err.Error()
		}
	}
	r.results, r.at = results, time.Now()
	return results, r.stopping
}

// noteTimeout bounds a look: who asks for the detail waits no longer.
const noteTimeout = 2 * time.Second

// detail is all with the notes, which are looked up each time: whether a process is
// ready must not wait for what does not make it so.
func (r *readiness) detail(ctx context.Context) ([]Result, bool) {
	results, stopping := r.all(ctx)
	results = slices.Clone(results)
	for _, n := range r.notes {
		ctx, cancel := context.WithTimeout(ctx, noteTimeout)
		says, warning := n.look(ctx)
		cancel()
		results = append(results, Result{Name: n.name, Says: says, Warning: warning})
	}
	return results, stopping
}
