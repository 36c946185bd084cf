package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

// receiver is an application that takes webhooks, and judges each by the
// specification's own library.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	verifier *standardwebhooks.Webhook
	// events are the ids of what arrived, by delivery and state.
	events map[string]map[string]int
	bad    []error
	answer int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{events: map[string]map[string]int{}, answer: http.StatusNoContent}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.verifier != nil {
		if err := r.verifier.Verify(body, q.Header); err != nil {
			r.bad = append(r.bad, err)
		}
	}
	var event struct {
		Type string
		Data struct {
			DeliveryID string `json:"delivery_id"`
		}
	}
	if err := json.Unmarshal(body, &event); err != nil {
		r.bad = append(r.bad, err)
	}
	key := event.Data.DeliveryID + " " + event.Type
	if r.events[key] == nil {
		r.events[key] = map[string]int{}
	}
	r.events[key][q.Header.Get("webhook-id")]++
	w.WriteHeader(r.answer)
}

// trust makes it judge by a secret.
func (r *receiver) trust(t *testing.T, secret string) {
	t.Helper()
	v, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verifier = v
}

func (r *receiver) reply(code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = code
}

// missing are the deliveries of an app of whose state nothing has arrived.
func (r *receiver) missing(t *testing.T, c *client.Client) (missing []string, all int) {
	t.Helper()
	for d, err := range c.Deliveries(t.Context(), client.DeliveryFilter{PageSize: 1000}) {
		if err != nil {
			t.Fatal(err)
		}
		all++
		r.mu.Lock()
		if r.events[d.ID.String()+" delivery."+string(d.Status)] == nil {
			missing = append(missing, d.ID.String()+" "+string(d.Status))
		}
		r.mu.Unlock()
	}
	return missing, all
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// loopback allows webhooks to this machine.
const loopback = "POSTLEDGER_WEBHOOK_NETWORKS=127.0.0.0/8"

// hooked makes an app's webhook and has the receiver judge by its secret.
func (s *server) hooked(t *testing.T, app []string, r *receiver, more ...string) (id string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	out := command(t, app, append([]string{"webhooks", "add", r.URL + "/in", "--json", "--out", file}, more...)...).expect(t, 0).stdout
	var w struct{ ID, Secret string }
	if err := json.Unmarshal([]byte(out), &w); err != nil || w.ID == "" || w.Secret != "" {
		t.Fatalf("it prints %s (%v)", out, err)
	}
	secret, err := config.ReadSecretFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r.trust(t, strings.TrimSpace(secret))
	return w.ID
}

// A process is killed between what settles and what is sent: every settled
// delivery's webhook arrives, and what arrives again has the id it had.
func TestWebhooksSurviveKills(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*testing.T) []string{
		"sqlite": func(*testing.T) []string { return nil },
		"postgres": func(t *testing.T) []string {
			key := filepath.Join(t.TempDir(), "key")
			command(t, nil, "keys", "encryption", "--out", key).expect(t, 0)
			return []string{"POSTLEDGER_DATABASE=" + testserver.Postgres(t), "POSTLEDGER_ENCRYPTION_KEY=file:" + key}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webhookKills(t, set(t))
		})
	}
}

func webhookKills(t *testing.T, set []string) {
	relay, r := newRelay(t, sink.Config{}), newReceiver(t)
	p := newPlace(t, append(set, loopback)...)
	if len(set) > 0 {
		p.run(t, "migrate", "up").expect(t, 0)
	}
	s, app := relayed(t, p, relay)
	s.hooked(t, app, r)
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.logged())
	}
	const messages = 60
	for _, at := range []string{"settle_committed:1", "settle_committed:3", "settle_committed:2"} {
		s = place{p.dir, append([]string{"POSTLEDGER_KILL_AT=" + at}, p.env...)}.startArmed(t)
		b := batchOf(messages)
		b.Key = at
		s.submit(t, app, b)
		killed(t, s)
	}
	s = p.start(t)
	c := s.client(t, app)
	until(t, c, "all has settled", settled)
	var all int
	eventually(t, "every settled delivery's webhook arrives", func() bool {
		var missing []string
		missing, all = r.missing(t, c)
		return len(missing) == 0 && all >= messages
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range r.bad {
		t.Errorf("not verified: %v", err)
	}
	for what, ids := range r.events {
		if len(ids) != 1 {
			t.Errorf("%s arrived under %d ids", what, len(ids))
		}
	}
	t.Logf("%d deliveries, %d kinds of events", all, len(r.events))
}

// The commands, on a served ledger: what an app does with its webhook.
func TestWebhookCommands(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	s := newPlace(t, loopback).start(t)
	operator := s.operator(t)
	command(t, operator, "profiles", "put", "box", "--from", "shop@example.org", "--transport", "sandbox").expect(t, 0)
	app := s.appKey(t, "shop")
	c := s.client(t, app)
	id := s.hooked(t, app, r, "--states", "sent", "--description", "orders", "--include-address")

	command(t, app, "webhooks", "ls").expect(t, 0, id, "working", "orders")
	command(t, app, "webhooks", "show", id).expect(t, 0, r.URL, "sent")
	command(t, app, "webhooks", "test", id).expect(t, 0, "delivered 204")
	r.reply(http.StatusTeapot)
	command(t, app, "webhooks", "test", id).expect(t, 1, "refused 418")
	command(t, app, "webhooks", "attempts", id).expect(t, 0, "refused", "delivered")
	r.reply(http.StatusOK)

	a, err := c.Send(t.Context(), &client.Message{To: []client.Recipient{{Address: "ada@in.test"}}, Subject: "s", Text: "t"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the webhook arrives", func() bool { m, n := r.missing(t, c); return len(m) == 0 && n == 1 })
	m, err := c.Message(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	delivery := m.Deliveries[0].ID.String()
	count := func() (n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for id, times := range r.events[delivery+" delivery.sent"] {
			if n += times; id == "" {
				t.Error("without an id")
			}
		}
		return n
	}
	command(t, app, "webhooks", "replay", id, "--delivery", delivery).expect(t, 0, "is queued")
	eventually(t, "it arrives again", func() bool { return count() == 2 })
	command(t, app, "webhooks", "replay", id, "--since", "2020-01-01T00:00:00Z").expect(t, 0, "is queued")
	eventually(t, "it arrives with its range", func() bool { return count() == 3 })
	command(t, app, "webhooks", "attempts", id, "--delivery", delivery).expect(t, 0, "sent", "delivered")

	command(t, app, "webhooks", "disable", id, "--reason", "we move").expect(t, 0, "disabled")
	command(t, app, "webhooks", "show", id).expect(t, 0, "we move")
	command(t, app, "webhooks", "replay", id, "--delivery", delivery).expect(t, 1, "disabled")
	command(t, app, "webhooks", "enable", id).expect(t, 0, "enabled")
	command(t, app, "webhooks", "rotate", id, "--overlap", "1h", "--out", filepath.Join(t.TempDir(), "next")).expect(t, 0)
	// Both secrets sign: the old one still verifies.
	command(t, app, "webhooks", "test", id).expect(t, 0, "delivered")
	// A server does not call itself, whatever is allowed.
	command(t, app, "webhooks", "add", s.api+"/v1/messages", "--out", filepath.Join(t.TempDir(), "x")).expect(t, 1, "url")
	command(t, app, "webhooks", "rm", id).expect(t, 0, "removed")
	command(t, app, "webhooks", "show", id).expect(t, 1, "no such webhook")
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range r.bad {
		t.Errorf("not verified: %v", err)
	}
	if strings.Contains(s.logged(), "whsec_") || strings.Contains(s.logged(), "ada@in.test") {
		t.Errorf("the log shows what it must not: %s", s.logged())
	}
	if _, err := postledger.ParseID(id); err != nil {
		t.Error(err)
	}
}
