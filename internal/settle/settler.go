package settle

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postledger/postledger/internal/ledger"
)

// Store is what the settler writes through.
type Store interface {
	Settle(ctx context.Context, ss []ledger.Settlement) ([]ledger.Settled, error)
}

// Options tune a settler; the zero value suits a server.
type Options struct {
	// Linger is how long a batch waits for company once it holds something that
	// is awaited (default 2 ms: longer costs rate).
	Linger time.Duration
	// Patience is how long a batch waits that nobody waits for (default 20 ms: of
	// what a batch costs the database a part does not depend on its size).
	Patience time.Duration
	// Batch bounds the deliveries of one transaction (default 500).
	Batch int
	// Unsettled bounds envelopes that were answered and are not settled yet
	// (default 512): they are what a crash leaves to the journal.
	Unsettled int
	// Timeout bounds one try to write a batch (default that of the ledger): a
	// connection on which nobody answers is given up for another.
	Timeout time.Duration
	Log     *slog.Logger
	// Kill is called at the settle's kill points, in tests of crashes only.
	Kill func(point string)
}

// Settler gathers settlements and writes them, from one goroutine: two would
// meet at the same counter rows.
type Settler struct {
	store  Store
	o      Options
	in     chan job
	wg     sync.WaitGroup
	once   sync.Once
	quit   chan struct{} // write what waits, then end
	ctx    context.Context
	cancel context.CancelFunc // end, and leave the rest to recovery
	left   atomic.Bool        // a batch was left to recovery
}

type job struct {
	ss      []ledger.Settlement
	awaited bool
	done    func([]ledger.Settled)
}

// New starts a settler.
func New(store Store, o Options) *Settler {
	if o.Linger == 0 {
		o.Linger = 2 * time.Millisecond
	}
	if o.Patience == 0 {
		o.Patience = max(20*time.Millisecond, o.Linger)
	}
	if o.Batch == 0 {
		o.Batch = 500
	}
	if o.Unsettled == 0 {
		o.Unsettled = 512
	}
	if o.Timeout == 0 {
		o.Timeout = ledger.DefaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Kill == nil {
		o.Kill = func(string) {}
	}
	s := &Settler{store: store, o: o, in: make(chan job, o.Unsettled), quit: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.loop)
	return s
}

// Submit hands over what belongs to one envelope; awaited says that somebody
// waits for it. It blocks while Unsettled of
// them wait: a ledger that falls behind slows the wire down, and what a crash
// must look up stays bounded. done is called once, after the commit, from the
// settler's goroutine; it must not block. If the settler is stopped before it
// could commit, done is never called: the leases stay, and the journal says
// what became of them.
func (s *Settler) Submit(ss []ledger.Settlement, awaited bool, done func([]ledger.Settled)) {
	select {
	case s.in <- job{ss, awaited, done}:
	case <-s.ctx.Done():
	}
}

// Close writes what was handed over, and returns when it has been committed or
// ctx has ended; then the rest is left to recovery. Nothing may be submitted
// any more once it has been called.
func (s *Settler) Close(ctx context.Context) error {
	s.once.Do(func() { close(s.quit) })
	stop := context.AfterFunc(ctx, s.cancel)
	defer stop()
	s.wg.Wait()
	defer s.cancel() // who submits all the same is let go
	if s.left.Load() {
		return fmt.Errorf("flush settles: %w", context.Cause(ctx))
	}
	return nil
}

func (s *Settler) loop() {
	for {
		select {
		case first := <-s.in:
			if !s.batch(first) {
				return
			}
		case <-s.quit:
			select {
			case first := <-s.in:
				if !s.batch(first) {
					return
				}
			default:
				return
			}
		}
	}
}

// batch gathers what arrives while nobody's time is up, and writes it.
func (s *Settler) batch(first job) bool {
	jobs, n, awaited := []job{first}, len(first.ss), first.awaited
	wait := s.o.Patience
	if awaited {
		wait = s.o.Linger
	}
	began := time.Now()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for n < s.o.Batch {
		select {
		case j := <-s.in:
			jobs = append(jobs, j)
			n += len(j.ss)
			if j.awaited && !awaited {
				awaited = true
				timer.Reset(min(s.o.Linger, s.o.Patience-time.Since(began)))
			}
			continue
		case <-timer.C:
		}
		break
	}
	return s.write(jobs, n)
}

// write settles a batch, again until the ledger answers: the outcomes are
// known, and giving up would make them doubtful. While it waits the channel
// fills and Submit holds the senders back. It is false when it was told to
// leave the rest to recovery.
func (s *Settler) write(jobs []job, n int) bool {
	ss := make([]ledger.Settlement, 0, n)
	for _, j := range jobs {
		ss = append(ss, j.ss...)
	}
	s.o.Kill("settle_before")
	out, ok := s.untilWritten(ss)
	if !ok {
		return false
	}
	s.o.Kill("settle_committed")
	at := 0
	for _, j := range jobs {
		s.warnRefused(j.ss, out[at:at+len(j.ss)])
		j.done(out[at : at+len(j.ss)])
		at += len(j.ss)
	}
	return true
}

func (s *Settler) untilWritten(ss []ledger.Settlement) ([]ledger.Settled, bool) {
	wait := 50 * time.Millisecond
	for {
		ctx, cancel := context.WithTimeout(s.ctx, s.o.Timeout)
		out, err := s.store.Settle(ctx, ss)
		cancel()
		if err == nil {
			return out, true
		}
		s.o.Log.Error("settle failed and will be repeated", slog.Int("deliveries", len(ss)), slog.Any("error", err))
		select {
		case <-time.After(wait):
		case <-s.ctx.Done():
			s.left.Store(true)
			return nil, false
		}
		wait = min(2*wait, 5*time.Second)
	}
}

func (s *Settler) warnRefused(ss []ledger.Settlement, out []ledger.Settled) {
	for i := range out {
		if !out[i].Applied && out[i].Status != ss[i].To {
			s.o.Log.Warn("a settle came too late and changed nothing",
				slog.String("delivery", ss[i].ID.String()), slog.Int64("fence", ss[i].Fence),
				slog.String("to", string(ss[i].To)), slog.String("status", string(out[i].Status)))
		}
	}
}
