package webhook_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/internal/webhook"
)

// post is a ledger with an app's deliveries, and a courier that tells of them.
type post struct {
	*ledgertest.World
	book    *webhook.Book
	courier *webhook.Courier
	sealer  *webhook.Sealer

	mu    sync.Mutex
	ended map[string]int
	held  map[string]time.Time
	off   int
}

func (p *post) WebhookTried(string, time.Duration) {}

func (p *post) WebhookEnded(how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended[how]++
}

func (p *post) WebhookDisabled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off++
}

func (p *post) Hold(_ context.Context, group string, until time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[group] = until
	return nil
}

func newPost(t *testing.T, c webhook.Config) *post {
	t.Helper()
	p := &post{ended: map[string]int{}, held: map[string]time.Time{}}
	p.World = ledgertest.NewWorld(t, func(t *testing.T) *ledger.Ledger {
		l, err := ledger.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if err := l.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		return l
	})
	ring, err := secret.ParseKeyring(secret.Generate())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	p.sealer = webhook.NewSealer(ring)
	p.book = webhook.NewBook(p.Ledger, p.sealer, log)
	c.Ledger, c.Book, c.Hold, c.Observer, c.Log = p.Ledger, p.book, p, p, log
	c.Sender = webhook.NewSender(webhook.SenderConfig{Guard: &webhook.Guard{Allow: loopback}})
	if c.Slots == 0 {
		c.Slots = 8
	}
	p.courier = webhook.NewCourier(c)
	t.Cleanup(p.courier.Close)
	p.AnnounceTo(p.book)
	return p
}

// endpoint makes one, and a delivery that has failed with the job that tells it.
func (p *post) endpoint(url string) ledger.Webhook {
	p.T.Helper()
	w := ledger.Webhook{ID: p.NewID(), AppID: p.App.ID, URL: url, States: webhook.States()}
	key := webhook.NewSecret()
	var err error
	if w.Secret, err = p.sealer.Seal(key, w.ID, url); err != nil {
		p.T.Fatal(err)
	}
	if err := p.CreateWebhook(p.T.Context(), w, postledger.AuditEvent{ID: p.NewID(), Action: "x", Result: "done"}); err != nil {
		p.T.Fatal(err)
	}
	if err := p.book.Load(p.T.Context()); err != nil {
		p.T.Fatal(err)
	}
	return w
}

// settled settles a delivery and returns what tells an endpoint of it.
func (p *post) settled(to ledger.Webhook) webhook.Job {
	p.T.Helper()
	id := p.Send([]string{"ada@in.example"})[0]
	l := p.LeaseN(1)[0]
	p.MustSettle(ledger.Settlement{ID: id, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusFailed, Reason: postledger.ReasonRejectedMessage, Response: "550 no"})
	return webhook.Job{Endpoint: to.ID, Delivery: id, State: postledger.StatusFailed, Reason: postledger.ReasonRejectedMessage, Fence: l.Fence, At: time.Now().UnixMicro()}
}

func (p *post) read(id postledger.ID) ledger.Webhook {
	p.T.Helper()
	w, err := p.Webhook(p.T.Context(), id)
	if err != nil {
		p.T.Fatal(err)
	}
	return w
}

func TestCourierTellsAndRecords(t *testing.T) {
	t.Parallel()
	p := newPost(t, webhook.Config{})
	bodies := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- string(b) + r.Header.Get("webhook-id")
	}))
	defer receiver.Close()
	w := p.endpoint(receiver.URL)
	job := p.settled(w)
	if err := p.courier.Handle(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	body := <-bodies
	for _, want := range []string{`"type":"delivery.failed"`, job.Delivery.String(), `"reason":"rejected_message"`, job.EventID().String()} {
		if !strings.Contains(body, want) {
			t.Errorf("sent %s, without %s", body, want)
		}
	}
	for _, hidden := range []string{"ada@in.example", "550 no"} {
		if strings.Contains(body, hidden) {
			t.Errorf("sent %s, which nobody asked for", body)
		}
	}
	p.courier.Close() // which writes what is to be recorded
	list, err := p.WebhookAttempts(t.Context(), w.ID, job.Delivery, postledger.ID{}, 10)
	if err != nil || len(list) != 1 || list[0].Verdict != "delivered" || list[0].EventID != job.EventID() || !list[0].RetryAt.IsZero() {
		t.Errorf("recorded %+v, %v", list, err)
	}
	if p.ended[webhook.EndDelivered] != 1 {
		t.Errorf("ended %v", p.ended)
	}
}

// What became of its endpoint or its delivery ends an event without a try.
func TestCourierDropsWhatNobodyIsTold(t *testing.T) {
	t.Parallel()
	p := newPost(t, webhook.Config{})
	var hits int
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	defer receiver.Close()
	w := p.endpoint(receiver.URL)
	job := p.settled(w)
	gone := job
	gone.Delivery = p.NewID()
	removed := job
	removed.Endpoint = p.NewID()
	for _, j := range []webhook.Job{gone, removed} {
		if err := p.courier.Handle(t.Context(), j); err != nil {
			t.Error(err)
		}
	}
	if hits != 0 || p.ended[webhook.EndDropped] != 2 {
		t.Errorf("%d requests, ended %v", hits, p.ended)
	}
}

// An endpoint that answers 410 is disabled; one that fails is tried again, held back
// after five failures in a row, and disabled when nothing has succeeded for long.
func TestCourierLeavesAndDisables(t *testing.T) {
	t.Parallel()
	p := newPost(t, webhook.Config{})
	var code int
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
	defer receiver.Close()

	code = http.StatusGone
	w := p.endpoint(receiver.URL)
	if err := p.courier.Handle(t.Context(), p.settled(w)); err != nil {
		t.Errorf("gone: %v", err)
	}
	if got := p.read(w.ID); got.DisabledAt.IsZero() || !strings.Contains(got.DisabledReason, "410") || p.off != 1 {
		t.Errorf("gone: %+v, %d", got, p.off)
	}

	code = http.StatusInternalServerError
	w = p.endpoint(receiver.URL)
	job := p.settled(w)
	for i := range 5 {
		if err := p.courier.Handle(t.Context(), job); err == nil || !strings.Contains(err.Error(), "answered 500") {
			t.Fatalf("failure %d: %v", i, err)
		}
	}
	if got := p.read(w.ID); got.FailingSince.IsZero() || !got.DisabledAt.IsZero() {
		t.Errorf("failing: %+v", got)
	}
	if until := p.held[w.ID.String()]; time.Until(until) < 20*time.Second || p.courier.Open() != 1 {
		t.Errorf("held until %s, %d open", until, p.courier.Open())
	}
	if err := p.courier.Handle(t.Context(), job); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("while it is left alone: %v", err)
	}
	p.courier.Close() // which writes what is to be recorded
	n, err := p.WebhookAttempts(t.Context(), w.ID, postledger.ID{}, postledger.ID{}, 100)
	if err != nil || len(n) != 5 || n[0].RetryAt.IsZero() {
		t.Errorf("recorded %d tries, %v", len(n), err)
	}
}

func TestCourierDisablesAfterLong(t *testing.T) {
	t.Parallel()
	p := newPost(t, webhook.Config{DisableAfter: time.Hour})
	receiver := httptest.NewServer(http.NotFoundHandler())
	defer receiver.Close()
	w := p.endpoint(receiver.URL)
	if _, err := p.WebhookFails(t.Context(), w.ID, 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := p.book.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = p.courier.Handle(t.Context(), p.settled(w))
	if got := p.read(w.ID); got.DisabledAt.IsZero() || !strings.Contains(got.DisabledReason, "nothing succeeded since") || p.off != 1 {
		t.Errorf("it is %+v", got)
	}
}

// A success ends that an endpoint counts as failing.
func TestCourierSeesThatItWorksAgain(t *testing.T) {
	t.Parallel()
	p := newPost(t, webhook.Config{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	w := p.endpoint(receiver.URL)
	if _, err := p.WebhookFails(t.Context(), w.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := p.book.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.courier.Handle(t.Context(), p.settled(w)); err != nil {
		t.Fatal(err)
	}
	if got := p.read(w.ID); !got.FailingSince.IsZero() {
		t.Errorf("it is %+v", got)
	}
}

// One endpoint that never answers holds slots, and none of those that another needs.
func TestCourierADeadEndpointBesideAHealthyOne(t *testing.T) {
	t.Parallel()
	const slots = 8
	p := newPost(t, webhook.Config{Slots: slots})
	arrived := make(chan struct{}, 100)
	dead := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server sees the end of who asks after that
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer dead.Close()
	healthy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer healthy.Close()
	a, b := p.endpoint(dead.URL), p.endpoint(healthy.URL)
	jobA, jobB := p.settled(a), p.settled(b)

	ctx, stop := context.WithCancelCause(t.Context())
	var waiting sync.WaitGroup
	results := make(chan error, slots)
	for range slots {
		waiting.Go(func() { results <- p.courier.Handle(ctx, jobA) })
	}
	// Three quarters of the slots are its own; the others come back.
	for range slots * 3 / 4 {
		<-arrived
	}
	for range slots / 4 {
		if err := <-results; err == nil {
			t.Error("a try at the dead endpoint ended well")
		}
	}
	if err := p.courier.Handle(t.Context(), jobB); err != nil {
		t.Errorf("the healthy one: %v", err)
	}
	if len(arrived) != 0 {
		t.Errorf("%d more tries at the dead one", len(arrived))
	}
	stopped := errors.New("stopped")
	stop(stopped)
	waiting.Wait()
	close(results)
	for err := range results {
		if !errors.Is(err, stopped) {
			t.Errorf("broken off: %v", err)
		}
	}
	// What was broken off says nothing about the endpoint.
	if list, err := p.WebhookAttempts(t.Context(), a.ID, postledger.ID{}, postledger.ID{}, 10); err != nil || len(list) != 0 {
		t.Errorf("recorded %v, %v", list, err)
	}
}
