package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/postledger/postledger/internal/ledger"
)

// recorder writes tries together, soon after they were made. The record is for
// people: no event waits for it, and a process that is killed loses what it has not
// written yet.
type recorder struct {
	write func(ctx context.Context, list []ledger.WebhookAttempt) error
	log   *slog.Logger

	mu      sync.Mutex
	pending []ledger.WebhookAttempt
	running bool
	full    chan struct{} // of capacity 1: there is enough for a write
	room    chan struct{} // closed and made anew when there is room again
	closing chan struct{}
	writes  sync.WaitGroup
}

const (
	// recordLinger is how long tries wait for company, recordMost how many go
	// together.
	recordLinger = 100 * time.Millisecond
	recordMost   = 500
	// recordRoom bounds those that are not written: at most some 2 KB each, 8 MB.
	recordRoom = 4000
	// recordTries is how often a write is tried, of recordTime each.
	recordTries = 3
	recordTime  = 10 * time.Second
)

func newRecorder(write func(context.Context, []ledger.WebhookAttempt) error, log *slog.Logger) *recorder {
	return &recorder{
		write: write, log: log,
		full: make(chan struct{}, 1), room: make(chan struct{}), closing: make(chan struct{}),
	}
}

// add takes a try. It waits while there is no room, until ctx ends; then the try is
// not recorded.
func (r *recorder) add(ctx context.Context, a ledger.WebhookAttempt) {
	r.mu.Lock()
	for len(r.pending) >= recordRoom {
		room := r.room
		r.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			r.lost(1, context.Cause(ctx))
			return
		}
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	r.pending = append(r.pending, a)
	if len(r.pending) >= recordMost {
		select {
		case r.full <- struct{}{}:
		default:
		}
	}
	if !r.running {
		r.running = true
		r.writes.Go(r.run)
	}
}

// run writes until nothing is left.
func (r *recorder) run() {
	for {
		linger := time.NewTimer(recordLinger)
		select {
		case <-linger.C:
		case <-r.full:
		case <-r.closing:
		}
		linger.Stop()
		r.mu.Lock()
		n := min(len(r.pending), recordMost)
		batch := r.pending[:n:n]
		r.pending = r.pending[n:]
		if n == 0 {
			r.pending, r.running = nil, false
		}
		close(r.room)
		r.room = make(chan struct{})
		r.mu.Unlock()
		if n == 0 {
			return
		}
		r.flush(batch)
	}
}

func (r *recorder) flush(batch []ledger.WebhookAttempt) {
	var err error
	for range recordTries {
		ctx, cancel := context.WithTimeout(context.Background(), recordTime)
		err = r.write(ctx, batch)
		cancel()
		if err == nil {
			return
		}
	}
	r.lost(len(batch), err)
}

func (r *recorder) lost(n int, err error) {
	r.log.Warn("tries of webhooks could not be recorded", slog.Int("tries", n), slog.Any("error", err))
}

// close writes what is left; nobody may add any more.
func (r *recorder) close() {
	close(r.closing)
	r.writes.Wait()
}
