package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// writeEnds writes what became of jobs, as many at a time as have ended. It tries
// again until it succeeds, while the beat keeps the leases; from the moment that
// stopping ends it has FlushPatience left. It returns when ends is closed, or when
// it is sent nil.
func (w *Worker) writeEnds(stopping context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(stopping, func() { time.AfterFunc(w.o.FlushPatience, cancel) })()
	lost := 0
	for more := true; more; {
		var batch []*ending
		batch, more = w.nextEnds()
		if err := w.writeBatch(ctx, batch); err != nil {
			lost += len(batch)
			w.o.Log.Error("what became of jobs could not be written: they run again", slog.Int("jobs", len(batch)), slog.Any("error", err))
		}
		for _, end := range batch {
			w.held.remove(end.running)
		}
	}
	if lost > 0 {
		return fmt.Errorf("what became of %d jobs could not be written", lost)
	}
	return nil
}

// endLinger is how long an end waits for company: a write costs its statement and
// its commit, whatever it holds. A worker that dies meanwhile leaves those that waited
// to run again.
const endLinger = 10 * time.Millisecond

// nextEnds waits for an end and takes those that come soon. It tells whether there
// will be more.
func (w *Worker) nextEnds() (batch []*ending, more bool) {
	end := <-w.ends
	linger := time.NewTimer(endLinger)
	defer linger.Stop()
	for end != nil {
		batch = append(batch, end)
		if len(batch) == MaxTake {
			return batch, true
		}
		select {
		case end = <-w.ends:
		case <-linger.C:
			return batch, true
		}
	}
	return batch, false
}

// plan sorts a batch into the writes it needs.
type plan struct {
	remove  []Ref       // rows of durable jobs that are done
	give    []GivenBack // rows of jobs for later, or set aside
	ack     []*Held
	returns []Return
}

func (w *Worker) plan(batch []*ending, now time.Time) plan {
	var p plan
	for _, end := range batch {
		e := end.Entry
		if end.Broken != nil {
			e.Handler = unreadable
		}
		switch end.outcome {
		case Done, Replaced:
			if e.Durable && w.outbox != nil {
				p.remove = append(p.remove, e.Ref())
			}
			p.ack = append(p.ack, end.Held)
		case Abandoned:
			// It is another's, whose end counts.
		case SetAside:
			if w.outbox != nil {
				e.Attempts += charged(end.charge)
				p.give = append(p.give, GivenBack{Entry: e, State: Quarantined, Reason: reason(end.err)})
			}
			p.ack = append(p.ack, end.Held)
		default:
			if end.wait <= HotHorizon || w.outbox == nil {
				p.returns = append(p.returns, Return{Held: end.Held, Delay: min(end.wait, HotHorizon), Charge: end.charge})
				break
			}
			e.Attempts += charged(end.charge)
			e.RunAt = now.Add(end.wait)
			p.give = append(p.give, GivenBack{Entry: e, State: Buffered, Reason: reason(end.err)})
			p.ack = append(p.ack, end.Held)
		}
	}
	return p
}

// unreadable is the handler under which a record that cannot be read is set aside.
const unreadable = "unreadable"

func charged(charge bool) int {
	if charge {
		return 1
	}
	return 0
}

// reason is bounded: a handler's error may hold an answer of any size.
func reason(err error) string {
	const most = 1000
	if err == nil {
		return ""
	}
	text := err.Error()
	if len(text) > most {
		text = text[:most]
	}
	return text
}

// writeBatch writes the rows first and then what is hot: a crash in between leaves
// a job in the set that runs again, and never a row without its job.
func (w *Worker) writeBatch(ctx context.Context, batch []*ending) error {
	w.o.Failpoint("worker: ran")
	p := w.plan(batch, time.Now())
	steps := []struct {
		n   int
		run func(context.Context) error
	}{
		{len(p.remove), func(ctx context.Context) error { _, err := w.outbox.Remove(ctx, p.remove); return err }},
		{len(p.give), func(ctx context.Context) error { return w.outbox.GiveBack(ctx, p.give) }},
		{len(p.ack), func(ctx context.Context) error { _, err := w.hot.Ack(ctx, p.ack); return err }},
		{len(p.returns), func(ctx context.Context) error { _, err := w.hot.Return(ctx, p.returns); return err }},
	}
	for _, step := range steps {
		if step.n == 0 {
			continue
		}
		if err := w.persist(ctx, step.run); err != nil {
			return err
		}
		w.o.Failpoint("worker: wrote")
	}
	return nil
}

// writeTimeout bounds one try of a write: a server that does not answer is asked
// again.
const writeTimeout = 10 * time.Second

// persist repeats a write until it succeeds or ctx ends. Each may be repeated.
func (w *Worker) persist(ctx context.Context, write func(context.Context) error) error {
	try := func() error {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		return write(ctx)
	}
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := try()
		if err == nil {
			w.writing.works()
			return nil
		}
		if ctx.Err() != nil || errors.Is(err, ErrClosed) {
			return err
		}
		w.writing.fails(err)
		if within(ctx.Done(), pause) {
			return err
		}
	}
}
