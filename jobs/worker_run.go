package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// ending is what became of a job, to be written.
type ending struct {
	*running
	outcome Outcome
	wait    time.Duration
	charge  bool
	err     error
}

// run runs a job and says what becomes of it, also when its handler ends the
// goroutine (runtime.Goexit, as testing's FailNow does): the job would be this
// worker's, and its slot taken, for as long as the process lives.
func (w *Worker) run(r *running, ended func(*ending)) {
	began := time.Now()
	var end *ending
	defer func() {
		if end == nil {
			end = w.exited(r)
		}
		w.tell(r, end, began)
		ended(end)
	}()
	end = w.runOnce(r)
}

// exited is how a run ends that did not return.
func (w *Worker) exited(r *running) *ending {
	end, backoff := &ending{running: r, err: errGoexit}, DefaultBackoff
	if r.handler != nil {
		backoff = r.handler.Backoff
	}
	if r.replaced.Load() {
		end.outcome = Replaced
		return end
	}
	end.outcome, end.wait, end.charge = verdictOf(end.err, context.Cause(r.ctx), r.Attempts, w.mostAttempts(r, r.handler), backoff)
	return end
}

// tell tells the observer and the log of a run.
func (w *Worker) tell(r *running, end *ending, began time.Time) {
	w.o.Observer.Ran(r.Handler, r.Lane, end.outcome, began.Sub(r.EnqueuedAt), time.Since(began))
	if end.err != nil {
		level := slog.LevelInfo
		if end.outcome == SetAside {
			level = slog.LevelError
		}
		w.o.Log.Log(context.Background(), level, "job did not succeed",
			slog.String("job", r.ID.String()), slog.String("handler", r.Handler),
			slog.String("outcome", string(end.outcome)), slog.Int("attempts", r.Attempts), slog.Any("error", end.err))
	}
}

func (w *Worker) runOnce(r *running) *ending {
	end := &ending{running: r}
	h := r.handler
	switch {
	case r.Broken != nil:
		end.outcome, end.err = SetAside, fmt.Errorf("read the job: %w", r.Broken)
		return end
	case r.Superseded:
		// Whatever the handler's shape is: the older payload must not run after
		// the newer one.
		end.outcome = Replaced
		return end
	case r.MaxAttempts > 0 && r.Attempts >= r.MaxAttempts:
		// Each run was charged and none came to an end: its workers were lost.
		end.outcome = SetAside
		end.err = fmt.Errorf("its worker was lost in the last of %d attempts", r.Attempts)
		return end
	case h == nil:
		// A worker of another version may know it.
		end.err = fmt.Errorf("%w: %q", ErrUnknownHandler, r.Handler)
		end.outcome, end.wait, end.charge = verdictOf(end.err, nil, r.Attempts, w.mostAttempts(r, nil), DefaultBackoff)
		return end
	}
	if h.Shape == Singleton {
		if !w.beginSingleton(r.Handler) {
			end.outcome, end.wait = Postponed, time.Second
			return end
		}
		defer w.endSingleton(r.Handler)
	}
	if end.err = w.call(r, h); end.err != nil && r.replaced.Load() {
		end.outcome = Replaced // there is nothing to try again
		return end
	}
	end.outcome, end.wait, end.charge = verdictOf(end.err, context.Cause(r.ctx), r.Attempts, w.mostAttempts(r, h), h.Backoff)
	return end
}

func (w *Worker) mostAttempts(r *running, h *handler) int {
	switch {
	case r.MaxAttempts > 0:
		return r.MaxAttempts
	case h != nil:
		return h.MaxAttempts
	default:
		return DefaultTries
	}
}

// call gives the handler its context and makes a panic an error.
func (w *Worker) call(r *running, h *handler) (err error) {
	timeout := h.Timeout
	if r.Timeout > 0 {
		timeout = r.Timeout
	}
	ctx, cancel := context.WithTimeout(r.ctx, timeout)
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			err = panicked(value)
			w.o.Log.Error("handler panicked", slog.String("job", r.ID.String()), slog.String("handler", r.Handler),
				slog.Any("panic", value), slog.String("stack", string(debug.Stack())))
		}
	}()
	ctx = context.WithValue(ctx, runKey{}, Run{
		ID: r.ID, Handler: r.Handler, Kind: r.Kind, Lane: r.Lane, Group: r.Group,
		Attempt: r.Attempts + 1, MaxAttempts: w.mostAttempts(r, h), EnqueuedAt: r.EnqueuedAt,
	})
	return h.run(ctx, r.Payload)
}

func (w *Worker) beginSingleton(name string) bool {
	if !w.held.begin(name) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.o.Lease/2)
	defer cancel()
	_, ok, err := w.outbox.AcquireLease(ctx, singletonLease(name), w.owner, singletonLife)
	if err == nil && ok {
		return true
	}
	if err != nil {
		w.o.Log.Warn("take a singleton's lease", slog.String("handler", name), slog.Any("error", err))
	}
	w.held.end(name)
	return false
}

func (w *Worker) endSingleton(name string) {
	// The beat must not renew what is about to be released.
	w.held.end(name)
	ctx, cancel := context.WithTimeout(context.Background(), w.o.Lease/2)
	defer cancel()
	if err := w.outbox.ReleaseLease(ctx, singletonLease(name), w.owner); err != nil && !errors.Is(err, context.Canceled) {
		w.o.Log.Warn("release a singleton's lease", slog.String("handler", name), slog.Any("error", err))
	}
}
