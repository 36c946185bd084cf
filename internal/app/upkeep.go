package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
)

const (
	sampleEvery   = 10 * time.Second
	sampleTimeout = 8 * time.Second
)

// sampleLoop reads the gauges that the ledger has, until ctx ends.
func (a *App) sampleLoop(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		a.sample(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (a *App) sample(ctx context.Context) {
	a.sampleJobs(ctx)
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	a.metrics.JournalTaken(a.worker.JournalTaken())
	a.sampleLog()
	if err := a.metrics.Sample(ctx, a.ledger); err != nil && !errors.Is(err, context.Canceled) {
		a.log.Warn("the gauges could not be read", slog.Any("error", err))
		return
	}
	profiles, err := a.ledger.Profiles(ctx)
	if err != nil {
		return // counted by the next sample
	}
	for i := range profiles {
		if profiles[i].RemovedAt.IsZero() {
			a.metrics.Health(profiles[i].Name, a.healthOf(&profiles[i]))
			if rate, ok := a.worker.Rate(profiles[i].ID); ok {
				a.metrics.Rate(profiles[i].Name, rate)
			}
		}
	}
}

// sampleJobs has its own patience: a Redis that does not answer must not keep the
// ledger's gauges waiting.
func (a *App) sampleJobs(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	a.sampleQueue(ctx)
}

// largeLog is four times what the write-ahead log is cut back to when nobody
// reads an old snapshot.
const largeLog = 256 << 20

// sampleLog looks at the embedded ledger's write-ahead log. Nothing can bound
// it but the end of who reads: refusing mail would turn a slow reader into an
// outage. So it is said before the disk is full.
func (a *App) sampleLog() {
	n, err := a.ledger.LogBytes()
	if err != nil {
		a.log.Warn("the gauges could not be read", slog.Any("error", err))
		return
	}
	a.metrics.LogBytes(n)
	if n > largeLog {
		a.log.Warn("the ledger's write-ahead log grows: a program holds a snapshot of the database open", slog.Int64("bytes", n))
	}
}

// healthOf is the state of a profile's next hop, as this process sees it.
func (a *App) healthOf(p *postledger.Profile) string {
	if !p.PausedAt.IsZero() {
		return "paused"
	}
	if s, ok := a.worker.Health(p.ID); ok {
		return s.State.String()
	}
	return "up"
}

var errWorkerFailed = errors.New("it has failed and stops")

// watchWorker keeps the worker's failure, for all who ask.
func (a *App) watchWorker(ctx context.Context) {
	select {
	case err := <-a.worker.Failed():
		a.failure.Store(&err)
		close(a.failed)
	case <-ctx.Done():
	}
}

// workerReady fails once the worker must not go on, and while it cannot write
// that it lives.
func (a *App) workerReady(context.Context) error {
	if err := a.failure.Load(); err != nil {
		return errors.Join(errWorkerFailed, *err)
	}
	return a.worker.Alive()
}
