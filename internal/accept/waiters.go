package accept

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// States reads how far the deliveries of messages have come. A message that is
// not kept has no entry.
type States interface {
	Progress(ctx context.Context, messages []postledger.ID) (map[postledger.ID][]ledger.Progress, error)
}

// Waiters lets callers wait until every delivery of a message has settled or
// was put off. One goroutine reads the states for all of them: when it is told
// of a settle, and every PollEvery in any case, so that a wake-up that is lost
// (another process settled it) costs time and not the answer.
type Waiters struct {
	states States
	log    *slog.Logger

	mu      sync.Mutex
	waiting map[postledger.ID][]*waiter
	n       int
	dirty   map[postledger.ID]bool
	closed  bool

	wake chan struct{} // one token: told of something since the last look
	quit chan struct{}
	wg   sync.WaitGroup
}

type waiter struct{ done chan struct{} }

const (
	// MaxWaiters bounds those who wait at one time, and with them the query.
	MaxWaiters = 1000
	// PollEvery is how long a lost wake-up can go unnoticed.
	PollEvery = 500 * time.Millisecond
	// wakeEvery bounds how often settles make the poller look.
	wakeEvery = 5 * time.Millisecond
	// pollTimeout bounds one look.
	pollTimeout = 5 * time.Second
)

// Errors of Wait.
var (
	// ErrTooManyWaiters: the message is accepted; only nobody can wait for it.
	ErrTooManyWaiters error = &BusyError{CodeOverloaded, time.Second}
	// ErrWaitersClosed: the server stops.
	ErrWaitersClosed error = &refusal{CodeUnavailable, "the server stops"}
)

// NewWaiters starts the poller; Close ends it.
func NewWaiters(s States, log *slog.Logger) *Waiters {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	w := &Waiters{
		states: s, log: log,
		waiting: map[postledger.ID][]*waiter{}, dirty: map[postledger.ID]bool{},
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
	}
	w.wg.Go(w.loop)
	return w
}

// Close ends the poller; who waits gets ErrWaitersClosed.
func (w *Waiters) Close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.quit)
	}
	w.mu.Unlock()
	w.wg.Wait()
}

// Wait returns nil when each delivery of the message has settled, or waits
// again after it was tried or held up once. It returns the context's error
// when that ends first: how far the message is then is for the caller to read.
func (w *Waiters) Wait(ctx context.Context, message postledger.ID) error {
	me, err := w.add(message)
	if err != nil {
		return err
	}
	defer w.remove(message, me)
	select {
	case <-me.done:
		return nil
	case <-w.quit:
		return ErrWaitersClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Notify tells that deliveries of these messages have been settled or put off.
// It never blocks.
func (w *Waiters) Notify(messages ...postledger.ID) {
	w.mu.Lock()
	found := false
	for _, id := range messages {
		if len(w.waiting[id]) > 0 {
			w.dirty[id], found = true, true
		}
	}
	w.mu.Unlock()
	if found {
		w.signal()
	}
}

func (w *Waiters) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it will look anyway
	}
}

func (w *Waiters) add(message postledger.ID) (*waiter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return nil, ErrWaitersClosed
	case w.n >= MaxWaiters:
		return nil, ErrTooManyWaiters
	}
	me := &waiter{done: make(chan struct{})}
	w.waiting[message] = append(w.waiting[message], me)
	w.n++
	// The first look is at once: it may have settled before we came.
	w.dirty[message] = true
	w.signal()
	return me, nil
}

func (w *Waiters) remove(message postledger.ID, me *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.waiting[message]
	for i, o := range list {
		if o == me {
			list = append(list[:i:i], list[i+1:]...)
			w.n--
		}
	}
	if len(list) == 0 {
		delete(w.waiting, message)
		delete(w.dirty, message)
		return
	}
	w.waiting[message] = list
}

// loop looks at what it was told of, and at everybody's message every
// PollEvery. While nobody waits it does nothing.
func (w *Waiters) loop() {
	tick := time.NewTicker(PollEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-tick.C:
			w.look(w.all())
		case <-w.wake:
			w.look(w.told())
			// Settles come by the hundred: those of the next moment share a look.
			select {
			case <-w.quit:
				return
			case <-time.After(wakeEvery):
			}
		}
	}
}

func (w *Waiters) told() []postledger.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]postledger.ID, 0, len(w.dirty))
	for id := range w.dirty {
		ids = append(ids, id)
	}
	clear(w.dirty)
	return ids
}

func (w *Waiters) all() []postledger.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]postledger.ID, 0, len(w.waiting))
	for id := range w.waiting {
		ids = append(ids, id)
	}
	clear(w.dirty)
	return ids
}

// look reads the states and releases those whose message is done. One that
// fails is made good by the next tick.
func (w *Waiters) look(ids []postledger.ID) {
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pollTimeout)
	defer cancel()
	states, err := w.states.Progress(ctx, ids)
	if err != nil {
		w.log.Warn("the states of messages that callers wait for could not be read", slog.String("error", err.Error()))
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if !answered(states[id]) {
			continue
		}
		for _, o := range w.waiting[id] {
			close(o.done)
		}
		w.n -= len(w.waiting[id])
		delete(w.waiting, id)
	}
}

// answered reports whether there is nothing more to wait for: each delivery
// has settled, or is queued again because it was refused for now, throttled or
// could not reach its next hop or its attachments, which will not change within
// the wait. One
// that was only handed back is tried again at once.
func answered(ds []ledger.Progress) bool {
	for _, d := range ds {
		switch {
		case d.Status.Settled():
		case d.Status == postledger.StatusQueued && (d.Reason == postledger.ReasonDeferred || d.Reason == postledger.ReasonThrottled ||
			d.Reason == postledger.ReasonUnavailable || d.Reason == postledger.ReasonMisconfigured || d.Reason == postledger.ReasonStorageUnavailable):
		default:
			return false
		}
	}
	return true
}
