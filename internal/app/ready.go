package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// check is one thing a process needs in order to take and send mail.
type check struct {
	name string
	run  func(context.Context) error
}

// readiness answers whether a process can take and send mail. Answers are kept
// for a second: who asks must not decide how often the ledger is asked.
type readiness struct {
	checks []check

	mu       sync.Mutex
	stopping bool
	at       time.Time
	results  []Result
}

// Result is the answer of one check; "" is good.
type Result struct {
	Name  string `json:"name"`
	Fault string `json:"fault,omitempty"`
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
