package webhook

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Refresh is how often a process looks whether endpoints have changed: for so long
// a new one may not hear of what another process settles.
const Refresh = time.Second

// Endpoints is where endpoints are kept.
type Endpoints interface {
	WebhooksVersion(ctx context.Context) (string, error)
	EnabledWebhooks(ctx context.Context) ([]ledger.Webhook, error)
}

// Endpoint is one that is told something.
type Endpoint struct {
	ledger.Webhook
	current, previous Secret
	// sealed says why its secret cannot be read.
	sealed error
}

// secrets are those that sign at a moment: two while one takes the other's place.
func (e *Endpoint) secrets(at time.Time) []Secret {
	if at.Before(e.PreviousUntil) && !e.previous.isZero() {
		return []Secret{e.current, e.previous}
	}
	return []Secret{e.current}
}

// pages are a book's at one moment; they are not changed.
type pages struct {
	version string
	byID    map[postledger.ID]*Endpoint
	byApp   map[postledger.ID][]*Endpoint
}

// Book is this process's copy of the endpoints that are enabled. A settlement asks
// it, which must not wait for a database.
type Book struct {
	from Endpoints
	seal *Sealer
	log  *slog.Logger

	now atomic.Pointer[pages]
	// turn is held while the copy is made; asked counts those who want one.
	turn   sync.Mutex
	looked atomic.Uint64
}

// NewBook makes an empty book; Load fills it.
func NewBook(from Endpoints, seal *Sealer, log *slog.Logger) *Book {
	b := &Book{from: from, seal: seal, log: log}
	b.now.Store(&pages{})
	return b
}

// Load looks whether endpoints have changed since the copy was made, and makes
// another if so. A call that waited for another that began after it has its answer.
func (b *Book) Load(ctx context.Context) error {
	before := b.looked.Load()
	b.turn.Lock()
	defer b.turn.Unlock()
	if b.looked.Load() >= before+2 {
		return nil
	}
	version, err := b.from.WebhooksVersion(ctx)
	if err != nil {
		return err
	}
	if old := b.now.Load(); old.version == version {
		b.looked.Add(1)
		return nil
	}
	// What is changed in between is read, and read again at the next look.
	list, err := b.from.EnabledWebhooks(ctx)
	if err != nil {
		return err
	}
	next := &pages{version: version, byID: make(map[postledger.ID]*Endpoint, len(list)), byApp: map[postledger.ID][]*Endpoint{}}
	for i := range list {
		e := b.open(&list[i])
		next.byID[e.ID] = e
		next.byApp[e.AppID] = append(next.byApp[e.AppID], e)
	}
	b.now.Store(next)
	b.looked.Add(1)
	return nil
}

func (b *Book) open(w *ledger.Webhook) *Endpoint {
	e := &Endpoint{Webhook: *w}
	e.current, e.sealed = b.seal.Open(w.Secret, w.ID, w.URL)
	if e.sealed != nil {
		b.log.Error("a webhook's secret cannot be read: nothing is sent to it", slog.String("webhook", w.ID.String()), slog.Any("error", e.sealed))
		return e
	}
	if len(w.PreviousSecret) > 0 {
		var err error
		if e.previous, err = b.seal.Open(w.PreviousSecret, w.ID, w.URL); err != nil {
			b.log.Error("a webhook's previous secret cannot be read: only the current one signs", slog.String("webhook", w.ID.String()), slog.Any("error", err))
		}
	}
	return e
}

// Run keeps the copy fresh until ctx ends.
func (b *Book) Run(ctx context.Context) {
	tick := time.NewTicker(Refresh)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := b.Load(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("whether webhooks have changed is not known", slog.Any("error", err))
		}
	}
}

// Find is an endpoint that is enabled; nil when there is none as far as the copy
// goes.
func (b *Book) Find(id postledger.ID) *Endpoint { return b.now.Load().byID[id] }

// Listening implements ledger.Announcer.
func (b *Book) Listening() bool { return len(b.now.Load().byApp) > 0 }

// JobsOf implements ledger.Announcer.
func (b *Book) JobsOf(moves []ledger.Move) []ledger.JobRow {
	p := b.now.Load()
	var rows []ledger.JobRow
	for i := range moves {
		m := &moves[i]
		for _, e := range p.byApp[m.AppID] {
			if !slices.Contains(e.States, m.Status) {
				continue
			}
			job := Job{Endpoint: e.ID, Delivery: m.ID, State: m.Status, Reason: m.Reason, Fence: m.Fence}
			if !m.At.IsZero() {
				job.At = m.At.UnixMicro()
			}
			rows = append(rows, job.row())
		}
	}
	return rows
}
