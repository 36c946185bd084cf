package webhook_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/webhook"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/memhot"
)

// A range of more deliveries than a page has: each is told of, under the id that its
// event has, and what is in another state or another app's is not.
func TestReplayGoesPageByPage(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 5000)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived <- r.Header.Get("Webhook-Id") }))
	defer receiver.Close()
	p := newPost(t, webhook.Config{Slots: 16})
	w := p.endpoint(receiver.URL)
	p.settled(w)
	// Two whole pages and a part of one; what has failed is not asked for.
	const each, messages = 100, 12
	want := map[string]int{}
	for m := range messages {
		var addresses []string
		for i := range each {
			addresses = append(addresses, fmt.Sprintf("r%d-%d@x.example", m, i))
		}
		ids := p.Send(addresses)
		if _, err := p.Cancel(t.Context(), ids, postledger.ReasonCanceledByApp, "op"); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			want[webhook.EventID(w.ID, id, postledger.StatusCanceled, 0).String()] = 0
		}
	}
	hot, err := memhot.New(jobs.Limits{Jobs: 5000, GroupShare: 5000, SlowShare: 1})
	if err != nil {
		t.Fatal(err)
	}
	client, err := jobs.NewClient(hot, nil, jobs.ClientOptions{Mode: jobs.Overflow})
	if err != nil {
		t.Fatal(err)
	}
	replays := &webhook.Replayer{Ledger: p.Ledger, Queue: client, Log: slog.New(slog.DiscardHandler)}
	registry := jobs.NewRegistry()
	if err := webhook.Register(registry, p.courier, replays); err != nil {
		t.Fatal(err)
	}
	worker, err := jobs.NewWorker(hot, nil, registry, jobs.WorkerOptions{Slots: 32, SlowShare: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	if _, err := replays.All(ctx, webhook.Range{
		Endpoint: w.ID, App: p.App.ID, States: []postledger.Status{postledger.StatusCanceled}, Until: time.Now().Add(time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	late := time.After(time.Minute)
	for left := len(want); left > 0; {
		select {
		case id := <-arrived:
			n, known := want[id]
			if !known {
				t.Fatalf("an event %s arrived that is not of the range", id)
			}
			if want[id] = n + 1; n == 0 {
				left--
			}
		case <-late:
			t.Fatalf("%d of %d events did not arrive", left, len(want))
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for id, n := range want {
		if n != 1 {
			t.Errorf("event %s arrived %d times", id, n)
		}
	}
}
