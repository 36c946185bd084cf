package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/internal/webhook"
	"github.com/postledger/postledger/jobs"
)

// furnishDesk makes where webhooks are administered. The world is their queue.
func (w *world) furnishDesk(ring *secret.Keyring, log *slog.Logger) {
	guard := &webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	sealer := webhook.NewSealer(ring)
	book := webhook.NewBook(w.ledger, sealer, log)
	courier := webhook.NewCourier(webhook.Config{Ledger: w.ledger, Book: book, Sender: webhook.NewSender(webhook.SenderConfig{Guard: guard}), Slots: 4, Log: log})
	w.t.Cleanup(courier.Close)
	w.desk = &webhook.Desk{
		Guard: guard, Sealer: sealer, Book: book, Courier: courier,
		Replayer: &webhook.Replayer{Ledger: w.ledger, Queue: w, Log: log},
	}
}

func (w *world) Enqueue(ctx context.Context, job jobs.Job) (jobs.ID, error) {
	_, err := w.EnqueueMany(ctx, []jobs.Job{job})
	return job.ID, err
}

func (w *world) EnqueueMany(_ context.Context, list []jobs.Job) ([]jobs.ID, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range list {
		if err := list[i].Validate(); err != nil {
			return nil, err
		}
	}
	w.jobs = append(w.jobs, list...)
	return make([]jobs.ID, len(list)), nil
}

func (w *world) newWebhook(app postledger.ID, url string) ledger.Webhook {
	w.t.Helper()
	h := ledger.Webhook{ID: w.ledger.NewID(), AppID: app, URL: url, States: webhook.States()}
	var err error
	h.Secret, _, err = w.desk.NewSecret(h.ID, url)
	must(w.t, err)
	must(w.t, w.ledger.CreateWebhook(w.t.Context(), h, w.did("webhook.create")))
	return h
}

func TestWebhookLife(t *testing.T) {
	backends(t, func(t *testing.T, w *world) {
		owner := w.key(w.app.ID, send, read)
		made := w.call("POST", "/v1/webhooks", owner, `{"url":"https://hooks.shop.test/in?k=1","states":["failed","sent","failed"],"description":"orders"}`).want(http.StatusCreated)
		first := made.text("secret")
		if _, err := webhook.ParseSecret(first); err != nil {
			t.Errorf("the secret is %q: %v", first, err)
		}
		path := "/v1/webhooks/" + made.text("id")
		v := w.call("GET", path, w.read, nil).want(http.StatusOK)
		if strings.Contains(string(v.body), "secret") || v.text("states", 0) != "sent" || v.text("states", 1) != "failed" || v.text("description") != "orders" ||
			v.at("enabled") != true || v.at("include_address") != false || v.text("app_id") != w.app.ID.String() {
			t.Errorf("it is %s", v.body)
		}
		// An operator must name the app.
		w.call("POST", "/v1/webhooks", w.admin, `{"url":"https://a.test/","states":["sent"]}`).refused("bad_input", "app required")
		w.call("POST", "/v1/webhooks", w.admin, `{"app":"`+w.other.ID.String()+`","url":"https://a.test/","states":["sent"]}`).want(http.StatusCreated)
		if l := w.call("GET", "/v1/webhooks", owner, nil).want(http.StatusOK); len(items(l, "id")) != 1 {
			t.Errorf("the app sees %s", l.body)
		}
		if l := w.call("GET", "/v1/webhooks", w.admin, nil).want(http.StatusOK); len(items(l, "id")) != 2 {
			t.Errorf("the operator sees %s", l.body)
		}

		// The same host keeps the secret, another gets its own.
		w.call("PUT", path, owner, `{"revision":9,"url":"https://hooks.shop.test/","states":["sent"]}`).refused("revision_conflict")
		c := w.call("PUT", path, owner, `{"revision":1,"url":"https://HOOKS.shop.test/other","states":["sent"],"include_address":true}`).want(http.StatusOK)
		if strings.Contains(string(c.body), `"secret"`) || c.at("include_address") != true || strings.Contains(string(c.body), "orders") {
			t.Errorf("changed to %s", c.body)
		}
		c = w.call("PUT", path, owner, `{"revision":2,"url":"https://elsewhere.test/","states":["sent"]}`).want(http.StatusOK)
		if next := c.text("secret"); next == "" || next == first {
			t.Errorf("another host has the secret %q", next)
		}

		r := w.call("POST", path+"/rotate", owner, `{"overlap_seconds":60}`).want(http.StatusOK)
		if r.text("secret") == "" || r.text("previous_secret_until") == "" {
			t.Errorf("rotated to %s", r.body)
		}
		w.call("POST", path+"/rotate", owner, `{"overlap_seconds":604801}`).refused("bad_input", "overlap_seconds range")
		r = w.call("POST", path+"/rotate", owner, `{"overlap_seconds":0}`).want(http.StatusOK)
		if strings.Contains(string(r.body), "previous_secret_until") {
			t.Errorf("at once: %s", r.body)
		}

		w.call("POST", path+"/disable", owner, `{"reason":""}`).refused("bad_input", "reason required")
		d := w.call("POST", path+"/disable", owner, `{"reason":"we move"}`).want(http.StatusOK)
		if d.at("enabled") != false || d.text("disabled_reason") != "we move" || d.text("disabled_at") == "" {
			t.Errorf("disabled: %s", d.body)
		}
		w.call("POST", path+"/replay", owner, `{"since":"2026-01-01T00:00:00Z"}`).refused("webhook_disabled")
		if e := w.call("POST", path+"/enable", owner, nil).want(http.StatusOK); e.at("enabled") != true || strings.Contains(string(e.body), "disabled") {
			t.Errorf("enabled: %s", e.body)
		}
		w.call("DELETE", path, owner, nil).want(http.StatusNoContent)
		w.call("GET", path, owner, nil).refused("webhook_unknown")

		// Nothing of a secret stands in the audit trail or the log.
		trail := w.call("GET", "/v1/audit?limit=100", w.audit, nil).want(http.StatusOK)
		for _, action := range []string{"webhook.create", "webhook.change", "webhook.rotate", "webhook.disable", "webhook.enable", "webhook.remove"} {
			if !strings.Contains(string(trail.body), `"`+action+`"`) {
				t.Errorf("the trail lacks %s", action)
			}
		}
		for _, hidden := range []string{first[6:20], "whsec_", "hooks.shop.test"} {
			if strings.Contains(string(trail.body), hidden) || strings.Contains(w.log.String(), hidden) {
				t.Errorf("%s is shown", hidden)
			}
		}
	})
}

func TestWebhookRules(t *testing.T) {
	w := sqlite(t)
	owner := w.key(w.app.ID, send, read)
	for body, want := range map[string]string{
		`{"states":["sent"]}`:                                                                          "url syntax",
		`{"url":"ftp://a.test/","states":["sent"]}`:                                                    "url syntax",
		`{"url":"https://10.0.0.1/","states":["sent"]}`:                                                "url syntax",
		`{"url":"https://169.254.169.254/latest","states":["sent"]}`:                                   "url syntax",
		`{"url":"https://u:p@a.test/","states":["sent"]}`:                                              "url syntax",
		`{"url":"https://a.test/"}`:                                                                    "states required",
		`{"url":"https://a.test/","states":["queued"]}`:                                                "states unknown",
		`{"url":"https://a.test/","states":["sent"],"description":"` + strings.Repeat("x", 256) + `"}`: "description too_long",
		`{"url":"https://a.test/","states":["sent"],"secret":"whsec_x"}`:                               "secret unknown",
	} {
		w.call("POST", "/v1/webhooks", owner, body).refused("bad_input", want)
	}
	for range ledger.MaxWebhooks {
		w.newWebhook(w.app.ID, "https://a.test/")
	}
	w.call("POST", "/v1/webhooks", owner, `{"url":"https://a.test/","states":["sent"]}`).refused("webhooks_too_many")
}

func TestWebhookTestIsSigned(t *testing.T) {
	w := sqlite(t)
	owner := w.key(w.app.ID, send, read)
	type request struct {
		header http.Header
		body   []byte
	}
	got := make(chan request, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- request{r.Header, body}
		out.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(out, "short and stout")
	}))
	defer receiver.Close()
	made := w.call("POST", "/v1/webhooks", owner, `{"url":"`+receiver.URL+`","states":["sent"]}`).want(http.StatusCreated)
	path := "/v1/webhooks/" + made.text("id")
	a := w.call("POST", path+"/test", owner, nil).want(http.StatusOK)
	if a.text("verdict") != "refused" || a.number("code") != http.StatusTeapot || a.text("response") != "short and stout" {
		t.Errorf("answered %s", a.body)
	}
	r := <-got
	verifier, err := standardwebhooks.NewWebhook(made.text("secret"))
	must(t, err)
	must(t, verifier.Verify(r.body, r.header))
	if !strings.Contains(string(r.body), `"type":"webhook.test"`) {
		t.Errorf("sent %s", r.body)
	}
	l := w.call("GET", path+"/attempts", owner, nil).want(http.StatusOK)
	if l.text("items", 0, "event_id") != r.header.Get("webhook-id") || l.text("items", 0, "verdict") != "refused" {
		t.Errorf("recorded %s", l.body)
	}
}

func TestWebhookReplay(t *testing.T) {
	w := sqlite(t)
	owner := w.key(w.app.ID, send, read)
	h := w.newWebhook(w.app.ID, "https://a.test/")
	path := "/v1/webhooks/" + h.ID.String() + "/replay"
	message := w.sent(letter())
	v, err := w.ledger.MessageByID(t.Context(), w.app.ID, message)
	must(t, err)
	d := v.Deliveries[0]
	for body, want := range map[string]string{
		`{}`: "since required",
		`{"delivery":"` + d.ID.String() + `","since":"2026-01-01T00:00:00Z"}`:      "delivery not_allowed",
		`{"since":"2026-01-02T00:00:00Z","until":"2026-01-01T00:00:00Z"}`:          "since range",
		`{"since":"2026-01-01T00:00:00Z","states":["queued"]}`:                     "states unknown",
		`{"since":"` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`: "since range",
	} {
		w.call("POST", path, owner, body).refused("bad_input", want)
	}
	w.call("POST", path, owner, `{"delivery":"`+w.ledger.NewID().String()+`"}`).refused("delivery_unknown")
	w.call("POST", path, owner, `{"delivery":"`+d.ID.String()+`"}`).refused("delivery_not_settled")
	_, err = w.ledger.Cancel(t.Context(), []postledger.ID{d.ID}, postledger.ReasonCanceledByApp, "op")
	must(t, err)
	foreign := w.newWebhook(w.other.ID, "https://a.test/")
	w.call("POST", "/v1/webhooks/"+foreign.ID.String()+"/replay", w.foreign, `{"delivery":"`+d.ID.String()+`"}`).refused("delivery_unknown")
	a := w.call("POST", path, owner, `{"delivery":"`+d.ID.String()+`"}`).want(http.StatusAccepted)
	if want := webhook.EventID(h.ID, d.ID, postledger.StatusCanceled, d.Fence); a.text("event_id") != want.String() {
		t.Errorf("replays %s, want %s", a.body, want)
	}
	w.call("POST", path, owner, `{"since":"2026-01-01T00:00:00Z","states":["canceled"]}`).want(http.StatusAccepted)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.jobs) != 2 || w.jobs[0].Handler != webhook.HandlerName || w.jobs[1].Handler != webhook.ReplayName {
		t.Fatalf("queued %+v", w.jobs)
	}
	var job webhook.Job
	must(t, json.Unmarshal(w.jobs[0].Payload, &job))
	if fmt.Sprint(job.EventID()) != a.text("event_id") {
		t.Errorf("the job is %+v", job)
	}
}
