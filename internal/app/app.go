package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/app/hop"
	"github.com/postledger/postledger/internal/app/metrics"
	"github.com/postledger/postledger/internal/app/queue"
	"github.com/postledger/postledger/internal/app/upkeep"
	"github.com/postledger/postledger/internal/audience"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/internal/webhook"
)

// Options are what a process is started with beside its configuration.
type Options struct {
	Version string
	// Migrate brings PostgreSQL's schema to this binary's version; SQLite's is
	// brought there in any case.
	Migrate bool
	Log     *slog.Logger
	// Kill is called at kill points, in tests of crashes only.
	Kill     func(point string)
	killable bool
}

// App is a process that serves.
type App struct {
	config    config.Config
	o         Options
	log       *slog.Logger
	lock      *Lock
	ledger    *ledger.Ledger
	blobs     Blobs
	hops      *hop.Factory
	metrics   *metrics.Metrics
	worker    *deliver.Worker
	waiters   *accept.Waiters
	accept    *accept.Service
	sources   *Sources
	audiences *audience.Service
	keeper    *upkeep.Keeper
	queue     *queue.Queue
	// ring are the encryption keys.
	ring     *secret.Keyring
	webhooks *webhook.Desk
	api      http.Handler
	ready    *readiness
	public   *listener
	admin    *listener

	refusals refusals
	// failure is why the worker must not go on, once failed is closed.
	failure atomic.Pointer[error]
	failed  chan struct{}

	endLoops context.CancelFunc
	loops    sync.WaitGroup
	// undo takes down what was started, the last first.
	undo []func() error
}

// New takes a checked configuration. It starts nothing.
func New(c config.Config, o Options) *App {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Kill == nil {
		o.Kill = func(string) {}
	} else {
		o.killable = true
	}
	return &App{config: c, o: o, log: o.Log, failed: make(chan struct{})}
}

// Start starts everything, or fails and leaves nothing running.
func (a *App) Start(ctx context.Context) error {
	sockets, err := a.start(ctx)
	if err == nil {
		a.listen(sockets)
		return nil
	}
	errs := []error{err}
	for _, s := range sockets {
		errs = append(errs, s.Close())
	}
	for i := len(a.undo) - 1; i >= 0; i-- {
		errs = append(errs, a.undo[i]())
	}
	return errors.Join(errs...)
}

func (a *App) onUndo(fn func() error) { a.undo = append(a.undo, fn) }

func (a *App) start(ctx context.Context) ([]net.Listener, error) {
	if err := a.openStores(ctx); err != nil {
		return nil, err
	}
	if err := a.makeHops(ctx); err != nil {
		return nil, err
	}
	// The addresses are taken before the worker sends anything, and answered
	// on at the very end.
	sockets, err := a.bind()
	if err != nil {
		return sockets, err
	}
	a.metrics = metrics.New(a.o.Version, ledger.SchemaVersion, a.ledger.Stats)
	if err := a.makeSteps(); err != nil {
		return sockets, err
	}
	if err := a.makeWebhooks(ctx, sockets); err != nil {
		return sockets, err
	}
	if err := a.makeQueue(ctx); err != nil {
		return sockets, err
	}
	if err := a.makeAPI(); err != nil {
		return sockets, err
	}
	if err := a.queue.Start(ctx); err != nil {
		return sockets, err
	}
	if err := a.worker.Start(ctx); err != nil {
		return sockets, err
	}
	loops, end := context.WithCancel(context.Background())
	a.endLoops = end
	a.loops.Go(func() { a.keeper.Run(loops) })
	a.loops.Go(func() { a.sources.Try(loops) })
	a.loops.Go(func() { a.sampleLoop(loops) })
	a.loops.Go(func() { a.webhooks.Book.Run(loops) })
	a.loops.Go(func() { a.watchWorker(loops) })
	return sockets, nil
}

func (a *App) bind() ([]net.Listener, error) {
	addrs := []string{a.config.HTTP}
	if a.config.AdminHTTP != config.Off {
		addrs = append(addrs, a.config.AdminHTTP)
	}
	var sockets []net.Listener
	for _, addr := range addrs {
		s, err := bind(addr)
		if err != nil {
			return sockets, err
		}
		sockets = append(sockets, s)
	}
	return sockets, nil
}

func (a *App) listen(sockets []net.Listener) {
	a.public = serve(sockets[0], a.api, a.log)
	attrs := []any{slog.String("version", a.o.Version), slog.String("http", a.public.addr()), slog.String("database", a.config.Database.String())}
	if len(sockets) > 1 {
		a.admin = serve(sockets[1], a.adminHandler(), a.log)
		attrs = append(attrs, slog.String("admin_http", a.admin.addr()))
	}
	a.log.Info("postledger serves", attrs...)
}

// Addr is where the API listens.
func (a *App) Addr() string { return a.public.addr() }

// AdminAddr is where the administration listens, or "".
func (a *App) AdminAddr() string {
	if a.admin == nil {
		return ""
	}
	return a.admin.addr()
}

// Run starts, waits until ctx ends or something fails for good, and stops.
// started hears that everything runs.
func (a *App) Run(ctx context.Context, started func()) error {
	if err := a.Start(ctx); err != nil {
		return err
	}
	if started != nil {
		started()
	}
	var failure error
	select {
	case <-ctx.Done():
		a.log.Info("stopping", slog.String("why", context.Cause(ctx).Error()))
	case <-a.failed:
		failure = fmt.Errorf("the worker must not go on: %w", *a.failure.Load())
	case err := <-a.public.done:
		a.public.done <- nil // for stop, which waits for it
		failure = fmt.Errorf("the API does not listen any more: %w", err)
	}
	return errors.Join(failure, a.Stop())
}

// ErrStopTimeout: StopTimeout is over.
var ErrStopTimeout = errors.New("the stop took longer than stop_timeout; what has not been settled is left to the wire journal, for the next start")

// Stop stops within StopTimeout.
func (a *App) Stop() error {
	began := time.Now()
	done := make(chan error, 1)
	go func() { done <- a.stop() }()
	bound := time.NewTimer(a.config.StopTimeout)
	defer bound.Stop()
	select {
	case err := <-done:
		a.log.Info("stopped", slog.Duration("took", time.Since(began)))
		return err
	case <-bound.C:
		return ErrStopTimeout
	}
}

// stop gives requests a quarter of the time and the wire up to three, jobs that run
// likewise; the rest is for writing outcomes.
func (a *App) stop() error {
	total := a.config.StopTimeout
	var errs []error
	a.ready.stop()
	a.waiters.Close()
	a.audiences.Stop()
	requests, cancel := context.WithTimeout(context.Background(), total/4)
	errs = append(errs, a.public.stop(requests))
	cancel()
	a.endLoops()
	wire, cancel := context.WithTimeout(context.Background(), total/2)
	var others sync.WaitGroup
	var queued error
	others.Go(func() { queued = a.queue.Stop(wire) })
	errs = append(errs, a.worker.Stop(wire))
	others.Wait()
	errs = append(errs, queued)
	cancel()
	a.loops.Wait()
	if a.admin != nil {
		admin, cancel := context.WithTimeout(context.Background(), time.Second)
		errs = append(errs, a.admin.stop(admin))
		cancel()
	}
	for i := len(a.undo) - 1; i >= 0; i-- {
		errs = append(errs, a.undo[i]())
	}
	return errors.Join(errs...)
}

// host names this machine in the ledger.
func host() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
