package accept_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
)

// board is what the ledger would say of messages.
type board struct {
	mu    sync.Mutex
	m     map[postledger.ID][]ledger.Progress
	looks int
	most  int
	err   error
}

func (b *board) set(id postledger.ID, ps ...ledger.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.m[id] = ps
}

func (b *board) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *board) Progress(_ context.Context, ids []postledger.ID) (map[postledger.ID][]ledger.Progress, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks++
	b.most = max(b.most, len(ids))
	if b.err != nil {
		return nil, b.err
	}
	out := map[postledger.ID][]ledger.Progress{}
	for _, id := range ids {
		out[id] = b.m[id]
	}
	return out, nil
}

var (
	queued   = ledger.Progress{Status: postledger.StatusQueued}
	sending  = ledger.Progress{Status: postledger.StatusSending}
	sent     = ledger.Progress{Status: postledger.StatusSent}
	deferred = ledger.Progress{Status: postledger.StatusQueued, Reason: postledger.ReasonDeferred}
	returned = ledger.Progress{Status: postledger.StatusQueued, Reason: postledger.ReasonReturned}
	doubtful = ledger.Progress{Status: postledger.StatusUnconfirmed}
)

func waiting(t *testing.T, test func(t *testing.T, b *board, w *accept.Waiters, id func() postledger.ID)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &board{m: map[postledger.ID][]ledger.Progress{}}
		w := accept.NewWaiters(b, nil)
		defer w.Close()
		var ids postledger.IDSource
		test(t, b, w, func() postledger.ID { return ids.Next(time.Now()) })
	})
}

// wait reports when and how a wait ended.
func wait(t *testing.T, w *accept.Waiters, id postledger.ID, patience time.Duration) (time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	start := time.Now()
	err := w.Wait(ctx, id)
	return time.Since(start), err
}

func TestWaitEnds(t *testing.T) {
	waiting(t, func(t *testing.T, b *board, w *accept.Waiters, id func() postledger.ID) {
		for _, tt := range []struct {
			name string
			ps   []ledger.Progress
			done bool
		}{
			{"sent", []ledger.Progress{sent, sent}, true},
			{"one is put off", []ledger.Progress{sent, deferred}, true},
			{"one is unconfirmed", []ledger.Progress{doubtful}, true},
			{"not kept any more", nil, true},
			{"one waits", []ledger.Progress{sent, queued}, false},
			{"one is on the wire", []ledger.Progress{deferred, sending}, false},
			{"one was handed back", []ledger.Progress{returned}, false},
		} {
			m := id()
			b.set(m, tt.ps...)
			took, err := wait(t, w, m, 10*time.Second)
			switch {
			case tt.done && (err != nil || took > 100*time.Millisecond):
				t.Errorf("%s: %v after %s", tt.name, err, took)
			case !tt.done && (!errors.Is(err, context.DeadlineExceeded) || took != 10*time.Second):
				t.Errorf("%s: %v after %s", tt.name, err, took)
			}
		}
	})
}

func TestANotifiedWaitEndsAtOnce(t *testing.T) {
	waiting(t, func(t *testing.T, b *board, w *accept.Waiters, id func() postledger.ID) {
		m, other := id(), id()
		b.set(m, queued)
		time.AfterFunc(1010*time.Millisecond, func() {
			b.set(m, sent)
			w.Notify(other, m)
		})
		took, err := wait(t, w, m, 30*time.Second)
		must(t, err)
		if took < 1010*time.Millisecond || took > 1020*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

func TestALostWakeUpDoesNotLoseTheAnswer(t *testing.T) {
	waiting(t, func(t *testing.T, b *board, w *accept.Waiters, id func() postledger.ID) {
		m := id()
		b.set(m, queued)
		time.AfterFunc(3210*time.Millisecond, func() { b.set(m, sent) })
		took, err := wait(t, w, m, 30*time.Second)
		must(t, err)
		if took < 3210*time.Millisecond || took > 3210*time.Millisecond+accept.PollEvery {
			t.Errorf("took %s", took)
		}
		// Nor does a database that was away for a while.
		m = id()
		b.set(m, queued)
		b.fail(errors.New("connection refused"))
		time.AfterFunc(2*time.Second, func() { b.set(m, sent); w.Notify(m) })
		time.AfterFunc(5*time.Second, func() { b.fail(nil) })
		took, err = wait(t, w, m, 30*time.Second)
		must(t, err)
		if took < 5*time.Second || took > 5*time.Second+accept.PollEvery {
			t.Errorf("took %s", took)
		}
	})
}

func TestWaitersShareOneQuery(t *testing.T) {
	waiting(t, func(t *testing.T, b *board, w *accept.Waiters, id func() postledger.ID) {
		var wg sync.WaitGroup
		messages := make([]postledger.ID, accept.MaxWaiters)
		var mu sync.Mutex
		var failed []error
		for i := range messages {
			messages[i] = id()
			b.set(messages[i], queued)
			wg.Go(func() {
				if _, err := wait(t, w, messages[i], time.Minute); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = append(failed, err)
				}
			})
		}
		synctest.Wait()
		err := w.Wait(t.Context(), id())
		if !errors.Is(err, accept.ErrTooManyWaiters) || accept.CodeOf(err) != accept.CodeOverloaded {
			t.Errorf("one too many: %v", err)
		}
		<-time.After(9*time.Second + time.Millisecond)
		for _, m := range messages {
			b.set(m, sent)
			w.Notify(m)
		}
		wg.Wait()
		if len(failed) > 0 {
			t.Errorf("%d failed: %v", len(failed), failed[0])
		}
		if b.looks > 40 || b.most != accept.MaxWaiters {
			t.Errorf("%d looks, the largest of %d", b.looks, b.most)
		}
		// All places are free again, and an idle poller asks nothing.
		looks := b.looks
		<-time.After(time.Minute)
		equal(t, "looks while nobody waits", b.looks, looks)
		m := id()
		b.set(m, sent)
		_, err = wait(t, w, m, time.Second)
		must(t, err)
	})
}

func TestSeveralWaitForOneMessage(t *testing.T) {
	waiting(t, func(t *testing.T, b *board, w *accept.Waiters, id func() postledger.ID) {
		m := id()
		b.set(m, queued)
		var wg sync.WaitGroup
		var errs [3]error
		for i := range errs {
			wg.Go(func() { _, errs[i] = wait(t, w, m, time.Duration(i+1)*time.Second) })
		}
		<-time.After(1500 * time.Millisecond)
		b.set(m, sent)
		w.Notify(m)
		wg.Wait()
		if !errors.Is(errs[0], context.DeadlineExceeded) {
			t.Errorf("the impatient one: %v", errs[0])
		}
		must(t, errs[1])
		must(t, errs[2])
	})
}

func TestCloseReleasesWaiters(t *testing.T) {
	waiting(t, func(t *testing.T, b *board, w *accept.Waiters, id func() postledger.ID) {
		m := id()
		b.set(m, queued)
		time.AfterFunc(time.Second, w.Close)
		took, err := wait(t, w, m, time.Minute)
		if !errors.Is(err, accept.ErrWaitersClosed) || took != time.Second {
			t.Errorf("%v after %s", err, took)
		}
		if err := w.Wait(t.Context(), m); !errors.Is(err, accept.ErrWaitersClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// The same on real databases, where settles are another's.
func TestWaitOnALedger(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		waiters := accept.NewWaiters(w.ledger, nil)
		defer waiters.Close()
		r := good()
		r.To = crowd(2)
		rec, _, ds := w.accepted(r)
		ended := make(chan error, 1)
		go func() { ended <- waiters.Wait(t.Context(), rec.MessageID) }()
		w.settle(rec.MessageID, map[postledger.ID]postledger.Status{ds[0].ID: postledger.StatusSent, ds[1].ID: postledger.StatusQueued})
		must(t, <-ended)
		must(t, waiters.Wait(t.Context(), rec.MessageID))
		unsettled, _, _ := w.accepted(good())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := waiters.Wait(ctx, unsettled.MessageID); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nothing has happened yet: %v", err)
		}
	})
}
