package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/postledger/postledger/internal/accept"
)

// refusals remembers whether the ledger could write what it was last asked to
// accept. A database that answers and cannot write (a full disk, a standby) is
// known by nothing else.
type refusals struct {
	mu   sync.Mutex
	last error
	at   time.Time
}

// refusalAge is how long a failure counts when nothing was asked since: whoever
// heeds readiness sends nothing here, and it must be found out that it works.
const refusalAge = 10 * time.Second

// note hears how an accept ended. What the caller did wrong says that the
// ledger works; that it went away says nothing.
func (r *refusals) note(err error) {
	if err != nil && errors.Is(err, context.Canceled) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.at = nil, time.Now()
	if err != nil && accept.Unavailable(err) {
		r.last = err
	}
}

func (r *refusals) ready(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || time.Since(r.at) > refusalAge {
		return nil
	}
	return fmt.Errorf("the last message could not be written: %w", r.last)
}
