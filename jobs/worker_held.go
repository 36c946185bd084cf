package jobs

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

type heldKey struct {
	id    ID
	token int64
}

// running is a job under this worker's lease, until its end is written.
type running struct {
	*Held
	ctx    context.Context
	cancel context.CancelCauseFunc
	// handler is nil when nobody registered one.
	handler *handler
	// replaced: a newer job with its dedupe key was seen.
	replaced atomic.Bool
}

// held are the jobs whose leases the worker keeps: at most its slots, and as many
// whose ends are being written.
type held struct {
	mu     sync.Mutex
	jobs   map[heldKey]*running
	single map[string]bool // handlers of singletons that run here
}

func (h *held) add(ctx context.Context, job *Held, how *handler) *running {
	r := &running{Held: job, handler: how}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.jobs[heldKey{job.ID, job.Token}] = r
	return r
}

func (h *held) remove(r *running) {
	r.cancel(nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.jobs, heldKey{r.ID, r.Token})
}

func (h *held) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.jobs)
}

func (h *held) all() []*running {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*running, 0, len(h.jobs))
	for _, r := range h.jobs {
		out = append(out, r)
	}
	return out
}

// begin takes a singleton's place in this process.
func (h *held) begin(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.single[name] {
		return false
	}
	h.single[name] = true
	return true
}

func (h *held) end(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.single, name)
}

func (h *held) singles() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]string, 0, len(h.single))
	for name := range h.single {
		out = append(out, name)
	}
	return out
}

// beat keeps the leases, and learns within a second that a job was superseded.
func (w *Worker) beat(ctx context.Context) {
	tick := time.NewTicker(min(time.Second, w.o.Lease/4))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.keepLeases(ctx)
		w.keepSingletons(ctx)
	}
}

func (w *Worker) keepLeases(ctx context.Context) {
	all := w.held.all()
	if len(all) == 0 {
		return
	}
	leases := make([]*Held, len(all))
	for i, r := range all {
		leases[i] = r.Held
	}
	verdicts, err := w.hot.Extend(ctx, leases, w.o.Lease)
	if err != nil {
		// The jobs go on. If it lasts, others run them too.
		w.keeping.fails(err, slog.Int("jobs", len(all)))
		return
	}
	w.keeping.works()
	for i, r := range all {
		switch {
		case verdicts[i] == Lost:
			r.cancel(ErrLeaseLost)
		case verdicts[i] == Superseded:
			r.replaced.Store(true)
			if r.handler != nil && r.handler.Shape == Superseding {
				r.cancel(ErrSuperseded)
			}
		}
	}
}

// singletonLife is how long a singleton's lease outlives its worker.
const singletonLife = 30 * time.Second

func singletonLease(handler string) string { return "singleton:" + handler }

func (w *Worker) keepSingletons(ctx context.Context) {
	for _, name := range w.held.singles() {
		_, ok, err := w.outbox.AcquireLease(ctx, singletonLease(name), w.owner, singletonLife)
		if err != nil || !ok {
			w.o.Log.Warn("keep a singleton's lease", slog.String("handler", name), slog.Bool("held", ok), slog.Any("error", err))
		}
	}
}
