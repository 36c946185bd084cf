package deliver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postledger/postledger/internal/ledger"
)

// errStale says that this worker may not transmit: it could not prove for too
// long that it is alive, now or since the lease.
var errStale = errors.New("no heartbeat could be written for too long")

// lifeline is the worker's proof that it is alive, and its own knowledge of
// when the last proof was committed. time.Time's monotonic reading is what
// counts: it goes on while the process is stopped, and no step of the clock
// changes it.
type lifeline struct {
	w    *Worker
	last atomic.Pointer[time.Time]
	// counts are the highest known to be committed, by a heartbeat, a lease or
	// a settle; mu keeps the journal's copy from going back.
	mu     sync.Mutex
	counts ledger.Counts
	// fault is why the last heartbeat could not be written; nil when it was.
	fault atomic.Pointer[error]
	// eras counts the silences that were long enough for others to take over:
	// what was leased before one may not be transmitted after it, also when a
	// heartbeat comes first.
	eras atomic.Int64
}

// run writes heartbeats until ctx ends. A ledger that does not know the last
// one is not the ledger it was written to: the worker must stop.
func (l *lifeline) run(ctx context.Context) {
	tick := time.NewTicker(l.w.c.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := time.Now()
		// Twice in the time after which the worker is stale: one that waits on
		// a connection that is dead must not be the only one.
		bctx, cancel := context.WithTimeout(ctx, l.w.c.StaleAfter/2)
		beat, err := l.w.c.Ledger.Heartbeat(bctx, l.w.id, l.known())
		cancel()
		switch {
		case err == nil:
			l.ok(began)
			if l.fault.Swap(nil) != nil {
				l.w.poke() // the loops need not wait out their rest
			}
			if err := l.committed(ledger.Counts{Beats: beat}); err != nil {
				l.w.fail(err)
				return
			}
		case errors.Is(err, ledger.ErrWorkerUnknown):
			l.w.fail(err)
			return
		case ctx.Err() == nil:
			l.fault.Store(&err)
			l.w.c.Log.Warn("heartbeat failed", slog.Any("error", err))
		}
	}
}

func (l *lifeline) known() ledger.Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// committed notes in the journal what the ledger now holds: before the first
// byte of what was leased leaves, and before the record of what was settled is
// freed. A ledger that holds less is older than the world (invariant 17).
func (l *lifeline) committed(counts ledger.Counts) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.counts
	l.counts = was.Max(counts)
	var err error
	if l.counts.Beats != was.Beats {
		err = l.w.journal.SetBeat(uint64(l.counts.Beats))
	}
	if err == nil && l.counts.Settles != was.Settles {
		err = l.w.journal.SetSettles(uint64(l.counts.Settles))
	}
	return err
}

// ok notes a heartbeat by the moment before it was asked for.
func (l *lifeline) ok(began time.Time) {
	if last := l.last.Load(); last != nil && time.Since(*last) >= l.w.c.StaleAfter {
		l.eras.Add(1)
	}
	l.last.Store(&began)
}

// fresh reports whether the worker may lease.
func (l *lifeline) fresh() bool { return time.Since(*l.last.Load()) < l.w.c.StaleAfter }

// answered reports whether a heartbeat was written after t.
func (l *lifeline) answered(t time.Time) bool { return l.last.Load().After(t) }

// era is to be read before a lease.
func (l *lifeline) era() int64 { return l.eras.Load() }

// holds reports whether the worker may transmit what it leased in an era.
func (l *lifeline) holds(era int64) bool { return l.fresh() && l.eras.Load() == era }
