package ledger_test

import (
	"context"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/testserver"
)

// behind is a ledger behind a proxy, which waits a tenth of a second.
func behind(t *testing.T) (*ledger.Ledger, *testserver.TCPProxy) {
	t.Helper()
	u, err := url.Parse(testserver.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	open(t, u.String())
	proxy := testserver.Proxy(t, u.Host)
	u.Host = proxy.Addr()
	l, err := ledger.Open(t.Context(), u.String(), ledger.Options{Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		proxy.Blackhole(false)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, proxy
}

// What a caller sets no deadline for ends all the same when nobody answers, or
// the loop that asks would stand still for ever.
func TestNothingWaitsForEver(t *testing.T) {
	t.Parallel()
	l, proxy := behind(t)
	for name, call := range map[string]func(context.Context) error{
		"a statement":   func(ctx context.Context) error { _, err := l.Workers(ctx); return err },
		"rows":          func(ctx context.Context) error { _, err := l.PastDeadline(ctx, 10); return err },
		"a transaction": func(ctx context.Context) error { return l.EndWorker(ctx, l.NewID()) },
	} {
		// On a connection that is in use, so that it is not asked whether it lives.
		answered(t, call)
		proxy.Blackhole(true)
		done := make(chan error, 1)
		go func() { done <- call(context.Background()) }()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s: it was answered", name)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: it waits for ever", name)
		}
		proxy.Blackhole(false)
	}
}

// answered repeats a call until it has an answer: the rest after a failure may
// have to end, and a machine with much to do is slow.
func answered(t *testing.T, call func(context.Context) error) {
	t.Helper()
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if err = call(t.Context()); err == nil {
			return
		}
	}
	t.Fatalf("it has no answer: %v", err)
}

// A server that refuses connections is asked for one again after a rest, however
// often the ledger is asked for something.
func TestRefusedConnectionsRest(t *testing.T) {
	t.Parallel()
	l, proxy := behind(t)
	proxy.Refuse(true)
	proxy.Cut()
	for l.Ping(t.Context()) == nil { // what is in the pool has not noticed
	}
	before, began := proxy.Accepted(), time.Now()
	calls := 0
	for ; time.Since(began) < time.Second; calls++ {
		if err := l.Ping(t.Context()); err == nil {
			t.Fatal("it is connected")
		}
	}
	// Rests of 50, 100, 200 and 400 ms; one may be under way. The driver asks
	// once more without TLS only where the URL leaves that open.
	if n := proxy.Accepted() - before; n > 6 {
		t.Errorf("%d calls asked for %d connections", calls, n)
	}
	// Many at once are no reason to ask more often: the rest is at 0.8 s or 1 s
	// now, and who finds it over asks for all.
	before, began = proxy.Accepted(), time.Now()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for time.Since(began) < 2*time.Second {
				if l.Ping(t.Context()) == nil {
					t.Error("it is connected")
				}
			}
		})
	}
	wg.Wait()
	if n := proxy.Accepted() - before; n < 1 || n > 4 {
		t.Errorf("twenty callers asked for %d connections in two seconds", n)
	}
	proxy.Refuse(false)
	answered(t, l.Ping)
}

// A session that cannot write is not kept: the next one can.
func TestReadOnlySessionsAreGivenUp(t *testing.T) {
	t.Parallel()
	l := open(t, testserver.Postgres(t))
	// A heartbeat has a session of its own; this writes in one of the pool's.
	write := func() error {
		return l.StartWorker(t.Context(), ledger.Worker{ID: l.NewID(), Host: "h", BootID: "b"})
	}
	if _, err := l.ExecRaw(t.Context(), `SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY`); err != nil {
		t.Fatal(err)
	}
	if write() == nil {
		t.Fatal("the session writes")
	}
	if err := write(); err != nil {
		t.Errorf("the second try: %v", err)
	}
}
