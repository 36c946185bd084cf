package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/fair"
	"github.com/postledger/postledger/internal/deliver/journal"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/mime"
	"github.com/postledger/postledger/internal/settle"
)

// Worker delivers for one process.
type Worker struct {
	c        Config
	id       postledger.ID
	ledgerID postledger.ID
	journal  *journal.Journal
	settler  *settle.Settler
	life     lifeline
	shelf    *shelf
	memory   [2]*semaphore.Weighted // by lane
	composer mime.Composer
	wake     chan struct{} // one pending look is as good as many
	reload   chan struct{}

	// lifetime ends when Stop begins; loops and leasing end with it. work
	// ends when Stop has waited long enough: what is before its dot is dropped.
	lifetime, work   context.Context
	endLife, endWork context.CancelFunc
	loops            sync.WaitGroup // ends with lifetime
	beats            sync.WaitGroup // ends with work: a stopping worker still lives
	senders          sync.WaitGroup
	failed           chan error
	failOnce         sync.Once
	stopping         sync.Once
	stopped          error   // how Stop ended
	others           watched // recovery's alone, once Start has returned

	mu      sync.Mutex
	lineups map[postledger.ID]*lineup
	revoked map[Pair]bool
	// removedApps are the apps that were removed.
	removedApps map[postledger.ID]bool
	turns       [2]*fair.Turns[ledger.ClaimKey]
	keys        map[ledger.ClaimKey]*keyState
	// held are the leases this process knows it has, by their fence: a row may
	// be leased again before the settle that freed it is heard of. One that the
	// ledger names and this does not is from a lease whose COMMIT got no answer.
	held map[postledger.ID]int64
	// idle are the senders that wait for more, and handed is what they get.
	idle   int
	handed chan handed
	// urgent is when immediate mail was leased last.
	urgent time.Time
	// living is how many workers share each profile's pace, this one included.
	living int

	// doubtful is until when a lease that got no answer may still turn up;
	// the leaser's alone.
	doubtful time.Time
	// resends is where the next sweep goes on looking for what a profile's policy
	// sends again; the sweep's alone.
	resends map[postledger.ID]ledger.Mark
}

// New makes a worker that does nothing yet.
func New(c Config) (*Worker, error) {
	c.defaults()
	w := &Worker{
		c: c, shelf: newShelf(&c), memory: budgets(c.MemoryBudget / 2),
		wake: make(chan struct{}, 1), reload: make(chan struct{}, 1), failed: make(chan error, 1),
		lineups: map[postledger.ID]*lineup{}, revoked: map[Pair]bool{}, keys: map[ledger.ClaimKey]*keyState{},
		others: watched{}, resends: map[postledger.ID]ledger.Mark{}, held: map[postledger.ID]int64{}, living: 1,
		handed: make(chan handed, maxIdle),
	}
	w.life.w = w
	for i := range w.turns {
		var err error
		if w.turns[i], err = fair.New[ledger.ClaimKey](turnQuantum); err != nil {
			return nil, fmt.Errorf("make turns: %w", err)
		}
	}
	w.lifetime, w.endLife = context.WithCancel(context.Background())
	w.work, w.endWork = context.WithCancel(context.Background())
	return w, nil
}

// Start checks that the ledger is not older than the world, takes over what
// dead workers of this machine left, and begins to deliver. ctx bounds the
// start alone.
func (w *Worker) Start(ctx context.Context) error {
	state, err := w.c.Ledger.ReadState(ctx)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	w.ledgerID = state.LedgerID
	told, ended, err := w.checkAge(ctx, state)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	boot, err := bootID()
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	w.id = w.c.Ledger.NewID()
	w.journal, err = journal.Create(w.c.JournalDir, journal.Owner{Ledger: w.ledgerID, Worker: w.id}, journalSlots)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	began := time.Now()
	row := ledger.Worker{ID: w.id, Host: w.c.Host, BootID: boot, PID: os.Getpid(), Version: w.c.Version}
	if err := w.c.Ledger.StartWorker(ctx, row); err != nil {
		return errors.Join(fmt.Errorf("start worker: %w", err), w.journal.Close())
	}
	w.life.counts = ledger.Counts{Beats: 1}
	w.life.ok(began)
	err = w.journal.SetBeat(1)
	if err == nil {
		err = w.answeredLate(ctx, ended)
	}
	if err == nil {
		err = discardTold(told)
	}
	if err == nil {
		err = w.readPolicy(ctx)
	}
	if err != nil {
		// Nothing was leased: the row ends and the journal is let go.
		return errors.Join(fmt.Errorf("start worker: %w", err), w.c.Ledger.EndWorker(ctx, w.id), w.closeHops(), w.journal.Close())
	}
	w.settler = settle.New(settling{w}, settle.Options{Timeout: w.c.Timeout, Log: w.c.Log, Kill: w.c.Kill})
	_ = w.recoverLost(ctx) // a failure is logged; the loop looks again
	w.beats.Go(func() { w.life.run(w.work) })
	w.loops.Go(w.policyLoop)
	w.loops.Go(w.leaseLoop)
	w.loops.Go(w.recoveryLoop)
	w.loops.Go(w.pruneLoop)
	w.c.Log.Info("worker started", slog.String("worker", w.id.String()), slog.String("journal", w.journal.Path()))
	return nil
}

// journalSlots bounds envelopes between their dot and their settle's commit:
// those the settler's channel holds, its batch of at most 500, and one for
// each connection. Begun reports a full journal and the envelope goes back.
const journalSlots = 4096

// Failed reports an error after which the worker must not go on, such as a
// ledger that does not know it.
func (w *Worker) Failed() <-chan error { return w.failed }

// fail ends the worker: it leases nothing more and drops what is before its
// dot, since it may not be the one that holds those leases.
func (w *Worker) fail(err error) {
	w.failOnce.Do(func() {
		w.c.Log.Error("worker failed and stops", slog.Any("error", err))
		w.failed <- err
	})
	w.endLife()
	w.endWork()
}

// Alive is nil, or why the last heartbeat could not be written. A worker that
// could write none for StaleAfter transmits nothing until it can.
func (w *Worker) Alive() error {
	if err := w.life.fault.Load(); err != nil {
		return *err
	}
	if !w.life.fresh() {
		return errStale
	}
	return nil
}

// JournalTaken is how many envelopes are between their dot and their settle's
// commit: what a crash at this moment would leave to the journal.
func (w *Worker) JournalTaken() int { return w.journal.Taken() }

// ID is the worker's id in the ledger.
func (w *Worker) ID() postledger.ID { return w.id }

// Wake says that deliveries of these keys are due now.
func (w *Worker) Wake(keys []ledger.ClaimKey) {
	w.mu.Lock()
	for _, k := range keys {
		w.addKey(k)
	}
	w.mu.Unlock()
	w.poke()
}

// Reload reads the policy again at once: a profile or grant was changed.
func (w *Worker) Reload() {
	select {
	case w.reload <- struct{}{}:
	default:
	}
}

func (w *Worker) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Stop finishes what is on the wire, returns leases that are not, flushes the
// settles and ends the worker. When ctx ends first, connections before their
// dot are dropped; what has sent its dot is waited for a moment longer, and
// what has no answer then is left to the journal. A worker that has not started
// has nothing to stop; a second call waits for the first and says the same.
func (w *Worker) Stop(ctx context.Context) error {
	w.stopping.Do(func() {
		if w.settler == nil {
			return
		}
		if err := w.stop(ctx); err != nil {
			w.stopped = fmt.Errorf("stop worker: %w", err)
		}
	})
	return w.stopped
}

func (w *Worker) stop(ctx context.Context) error {
	w.endLife()
	release := context.AfterFunc(ctx, w.endWork)
	defer release()
	w.loops.Wait() // nothing is leased or queued any more
	w.mu.Lock()
	var unsent []*envelope
	for _, l := range w.lineups {
		unsent = append(unsent, l.recall()...)
	}
	w.mu.Unlock()
	for _, e := range unsent {
		w.giveBack(e, postledger.ReasonReturned)
	}
	done := make(chan struct{})
	go func() { w.senders.Wait(); close(done) }()
	var errs []error
	select {
	case <-done:
	case <-ctx.Done():
		// What is before its dot returns at once now.
		select {
		case <-done:
		case <-time.After(afterDotGrace):
			errs = append(errs, errors.New("an answer to a final dot is still missing; its delivery is left to the journal"))
		}
	}
	// Also when something is missing: every answer that is written now is one
	// less for the journal.
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushBound)
	errs = append(errs, w.settler.Close(flush))
	cancel()
	w.endWork()
	w.beats.Wait()
	if errors.Join(errs...) == nil {
		errs = append(errs, w.endRow(context.WithoutCancel(ctx)))
	}
	return errors.Join(append(errs, w.closeHops(), w.journal.Close())...)
}

// endRow marks the worker as ended, and tries again while the ledger does not
// answer: one that was unreachable for a moment, as it is to a process that was
// stopped and goes on, is no reason to end with an error and to be found lost
// later.
func (w *Worker) endRow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endBound)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		try, done := context.WithTimeout(ctx, w.c.Timeout)
		err := w.c.Ledger.EndWorker(try, w.id)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

func (w *Worker) closeHops() error {
	w.mu.Lock()
	var hops []Hop
	for _, l := range w.lineups {
		if l.hop.Transport != nil {
			hops = append(hops, l.hop)
		}
	}
	w.mu.Unlock()
	var errs []error
	for _, h := range hops {
		errs = append(errs, h.Transport.Close())
	}
	return errors.Join(errs...)
}

const (
	// afterDotGrace is how long a stop that is over its bound still waits for
	// answers to final dots: each one that arrives is one unconfirmed less.
	afterDotGrace = 2 * time.Second
	flushBound    = 15 * time.Second
	// endBound is how long a stop that has settled everything tries to say so in
	// its row. Nothing is lost by a row that is left: the others find it lost.
	endBound = 10 * time.Second
)

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
