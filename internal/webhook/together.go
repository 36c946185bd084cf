package webhook

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// together makes one call of many: what is asked for while a call is under way goes
// with the next. A sender's slots ask for one row each, and a database is asked in
// batches. There are never more asking than slots, which bounds what waits.
type together[K, V any] struct {
	most int
	// linger is how long the first who asks waits for company.
	linger  time.Duration
	timeout time.Duration
	call    func(ctx context.Context, keys []K) ([]V, error)

	mu      sync.Mutex
	running bool
	waiting []*asked[K, V]
	calls   sync.WaitGroup
}

type asked[K, V any] struct {
	key    K
	answer V
	err    error
	done   chan struct{}
}

// do is call for one key. The call does not end with ctx: others wait for it too.
func (t *together[K, V]) do(ctx context.Context, key K) (V, error) {
	a := &asked[K, V]{key: key, done: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, a)
	if !t.running {
		t.running = true
		t.calls.Go(t.run)
	}
	t.mu.Unlock()
	select {
	case <-a.done:
		return a.answer, a.err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

func (t *together[K, V]) run() {
	for {
		time.Sleep(t.linger)
		t.mu.Lock()
		n := min(len(t.waiting), t.most)
		batch := t.waiting[:n:n]
		t.waiting = t.waiting[n:]
		if n == 0 {
			t.waiting, t.running = nil, false
		}
		t.mu.Unlock()
		if n == 0 {
			return
		}
		t.ask(batch)
	}
}

func (t *together[K, V]) ask(batch []*asked[K, V]) {
	ctx, cancel := context.WithTimeout(context.Background(), t.timeout)
	defer cancel()
	keys := make([]K, len(batch))
	for i, a := range batch {
		keys[i] = a.key
	}
	answers, err := t.call(ctx, keys)
	if err == nil && len(answers) != len(keys) {
		err = fmt.Errorf("%d answers to %d questions", len(answers), len(keys))
	}
	for i, a := range batch {
		if a.err = err; err == nil {
			a.answer = answers[i]
		}
		close(a.done)
	}
}

// close waits for the call that is under way; nobody may ask any more.
func (t *together[K, V]) close() { t.calls.Wait() }
