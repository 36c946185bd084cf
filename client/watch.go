package client

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errStalled ends a try in which nothing moved.
var errStalled = errors.New("nothing moved for too long")

// watcher ends a try that stands still. A bound for a try as a whole would
// have to fit the largest attachment on the slowest line, and so would fit
// nothing else.
type watcher struct {
	ctx   context.Context //nolint:containedctx // it exists to end it
	end   context.CancelCauseFunc
	stall time.Duration

	mu    sync.Mutex
	timer *time.Timer
	done  bool
}

func watch(ctx context.Context, stall time.Duration) (context.Context, *watcher) {
	ctx, end := context.WithCancelCause(ctx)
	w := &watcher{ctx: ctx, end: end, stall: stall}
	w.timer = time.AfterFunc(stall, func() { end(errStalled) })
	return ctx, w
}

// progress gives the try its time anew.
func (w *watcher) progress() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.timer.Reset(w.stall)
	}
}

// pause stops the clock until there is progress.
func (w *watcher) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
}

func (w *watcher) stop() {
	w.mu.Lock()
	w.done = true
	w.timer.Stop()
	w.mu.Unlock()
	w.end(nil)
}

// cause replaces "context canceled" where standing still was the reason.
func (w *watcher) cause(err error) error {
	if errors.Is(context.Cause(w.ctx), errStalled) {
		return errStalled
	}
	return err
}

// progress tells the watcher of each read of a request's body: the connection
// reads on when it has written.
type progress struct {
	content
	w *watcher
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.content.Read(b)
	p.w.progress()
	return n, err
}
