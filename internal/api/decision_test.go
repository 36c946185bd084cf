package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// statusOf is a message's state as its app sees it.
func (w *world) statusOf(id postledger.ID) string {
	w.t.Helper()
	return w.call("GET", "/v1/messages/"+id.String(), w.read, nil).want(http.StatusOK).text("status")
}

func TestCancelMessage(t *testing.T) {
	backends(t, func(t *testing.T, w *world) {
		id := w.sent(letter("a@in.test", "b@in.test"))
		a := w.call("POST", "/v1/messages/"+id.String()+"/cancel", w.send, nil).want(http.StatusOK)
		if a.number("canceled") != 2 || a.number("on_the_wire") != 0 || w.statusOf(id) != "canceled" {
			t.Errorf("answer %s", a.body)
		}
		v := w.call("GET", "/v1/messages/"+id.String(), w.read, nil)
		if v.text("deliveries", 0, "reason") != "canceled_by_app" || v.text("deliveries", 0, "events", 0, "kind") != "canceled" ||
			!strings.HasPrefix(v.text("deliveries", 0, "events", 0, "actor"), "app key ") {
			t.Errorf("message %s", v.body)
		}
		if e, ok := w.lastAudit("message.cancel"); !ok || e.TargetID != id.String() || e.Result != "done" {
			t.Errorf("line %+v", e)
		}
		// Again: nothing is left to do.
		a = w.call("POST", "/v1/messages/"+id.String()+"/cancel", w.send, nil).want(http.StatusOK)
		if a.number("canceled") != 0 {
			t.Errorf("answer %s", a.body)
		}
		// On the wire it is a wish.
		id = w.sent(letter())
		leased := w.lease(postledger.LaneImmediate, 1)
		a = w.call("POST", "/v1/messages/"+id.String()+"/cancel", w.admin, nil).want(http.StatusAccepted)
		if a.number("on_the_wire") != 1 || w.statusOf(id) != "sending" {
			t.Errorf("answer %s", a.body)
		}
		w.settles(leased, postledger.StatusSent, postledger.ReasonSandbox)
		if w.statusOf(id) != "sent" {
			t.Errorf("the wire's outcome did not win: %s", w.statusOf(id))
		}
	})
}

// A body that a route does not have is not passed over: it may say which part
// is meant.
func TestBodiesThatNobodyReads(t *testing.T) {
	w := sqlite(t)
	id := w.sent(letter())
	path := "/v1/messages/" + id.String()
	w.call("POST", path+"/cancel", w.send, `{"deliveries":["x"]}`).refused("bad_input", "deliveries unknown")
	w.call("POST", path+"/cancel", w.send, `x`).refused("bad_input", "json")
	w.call("GET", path, w.read, `{"a":1}`).refused("bad_input", "a unknown")
	w.call("DELETE", "/v1/profiles/main", w.admin, `[]`).refused("bad_input", "type")
	if w.statusOf(id) != "queued" {
		t.Errorf("the message is %s", w.statusOf(id))
	}
	w.call("POST", path+"/cancel", w.send, `{}`).want(http.StatusOK)
}

// More than one transaction's worth.
func TestCancelManyPages(t *testing.T) {
	w := sqlite(t)
	var messages []any
	for i := range 30 {
		var to []string
		for j := range 40 {
			to = append(to, fmt.Sprintf("u%d-%d@in.test", i, j))
		}
		messages = append(messages, letter(to...))
	}
	batch := w.call("POST", "/v1/batches", w.send, map[string]any{"messages": messages}).want(http.StatusAccepted).text("batch_id")
	leased := w.lease(postledger.LaneBulk, 100)
	w.settles(leased, postledger.StatusUnconfirmed, postledger.ReasonNoAnswer)
	a := w.call("POST", "/v1/batches/"+batch+"/cancel", w.send, nil).want(http.StatusAccepted)
	if a.number("canceled") != 1200-len(leased) || a.number("on_the_wire") != len(leased) || a.at("more") != false {
		t.Errorf("answer %s", a.body)
	}
}

func TestCancelBatchAndByFilter(t *testing.T) {
	w := sqlite(t)
	post := func() string {
		return w.call("POST", "/v1/batches", w.send, map[string]any{"messages": []any{letter(), letter("bob@in.test")}}).want(http.StatusAccepted).text("batch_id")
	}
	a := w.call("POST", "/v1/batches/"+post()+"/cancel", w.send, nil).want(http.StatusOK)
	if a.number("canceled") != 2 {
		t.Errorf("answer %s", a.body)
	}
	post()
	ref := w.sent(with(letter("cy@in.test"), "ref", map[string]any{"scope": "order", "id": "1"}))
	for body, n := range map[string]int{`{"ref_scope":"order","ref_id":"1"}`: 1, `{"recipient":"BOB@in.test"}`: 1, `{"lane":"bulk"}`: 1} {
		if body == `{"lane":"bulk"}` {
			continue // after the others: they are met in any order
		}
		if a := w.call("POST", "/v1/messages/cancel", w.send, body).want(http.StatusOK); a.number("canceled") != n {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	if a := w.call("POST", "/v1/messages/cancel", w.send, `{"lane":"bulk"}`).want(http.StatusOK); a.number("canceled") != 1 {
		t.Errorf("lane: %s", a.body)
	}
	if w.statusOf(ref) != "canceled" {
		t.Error("the message with the reference was not canceled")
	}
	w.sent(letter())
	if a := w.call("POST", "/v1/messages/cancel", w.send, `{"all":true}`).want(http.StatusOK); a.number("canceled") != 1 {
		t.Errorf("all: %s", a.body)
	}
}

// Invariant 11: a filter that is empty, null, misspelt or wrong decides nothing.
func TestDecisionsFailClosed(t *testing.T) {
	w := sqlite(t)
	id := w.sent(letter())
	for body, want := range map[string]string{
		`{}`: "empty", `{"all":false}`: "empty", `null`: "null", ``: "json", `{"ids":[]}`: "ids empty", `{"ids":null}`: "ids null",
		`{"recipient":""}`: "recipient empty", `{"recipient":null}`: "recipient null", `{"recipent":"a@in.test"}`: "recipent unknown",
		`{"batch":""}`: "batch empty", `{"batch":"x"}`: "batch syntax", `{"message":null}`: "message null", `{"lane":"fast","all":true}`: "lane range",
		`{"since":"","all":true}`: "since syntax", `{"ref_scope":"order"}`: "empty", `{"app":"` + w.app.ID.String() + `"}`: "empty",
		`{"recipient":"a@in.test","recipient":""}`: "recipient duplicate",
		`{"all":true,"recipient":""}`:              "recipient empty", `{"all":true,"ids":[]}`: "ids empty", `{"all":true,"ids":[""]}`: "ids[0] empty",
		`{"all":true,"batch":""}`: "batch empty", `{"all":true,"message":"00000000-0000-0000-0000-000000000000"}`: "message empty",
		`{"all":true,"profile":""}`: "profile empty", `{"all":true,"lane":""}`: "lane empty", `{"all":true,"ref_id":""}`: "ref_id empty",
		`{"reason":""}`: "reason empty", `{"all":true,"reason":null}`: "reason null", `{"reason":"restord"}`: "reason unknown",
		`{"all":true,"ref_scope":""}`: "ref_scope empty", `{"all":true,"until":"0001-01-01T00:00:00Z"}`: "until empty",
	} {
		a := w.call("POST", "/v1/messages/cancel", w.send, body).refused("bad_input", want)
		_ = a
		filter := body
		if filter == "" {
			filter = "7"
		}
		w.call("POST", "/v1/deliveries/resolve", w.admin, `{"action":"sent","filter":`+filter+`}`)
	}
	w.call("POST", "/v1/deliveries/resolve", w.admin, `{"action":"sent","filter":{"reason":"expired"}}`).refused("bad_input", "filter.reason unknown")
	w.call("POST", "/v1/messages/cancel", w.admin, `{}`).refused("bad_input", "empty")
	w.call("POST", "/v1/deliveries/resolve", w.admin, `{"action":"sent"}`).refused("bad_input", "filter empty")
	w.call("POST", "/v1/deliveries/resolve", w.admin, `{"action":"forget","filter":{"all":true}}`).refused("bad_input", "action unknown")
	w.call("POST", "/v1/deliveries/resolve", w.admin, `{"filter":{"all":true}}`).refused("bad_input", "action unknown")
	if w.statusOf(id) != "queued" {
		t.Errorf("the message is %s", w.statusOf(id))
	}
}

func TestResolve(t *testing.T) {
	w := sqlite(t)
	first, second := w.sent(letter()), w.sent(letter("bob@in.test"))
	canceled := w.sent(letter("cy@in.test"))
	w.settles(w.lease(postledger.LaneImmediate, 10), postledger.StatusUnconfirmed, postledger.ReasonNoAnswer)
	if w.statusOf(first) != "unconfirmed" {
		t.Fatal("not unconfirmed")
	}
	w.call("POST", "/v1/messages/"+canceled.String()+"/cancel", w.send, nil).want(http.StatusAccepted)
	resolve := func(action, filter string) *answer {
		return w.call("POST", "/v1/deliveries/resolve", w.admin, `{"action":"`+action+`","filter":`+filter+`}`).want(http.StatusOK)
	}
	if a := resolve("sent", `{"message":"`+first.String()+`"}`); a.number("resolved") != 1 || w.statusOf(first) != "sent" {
		t.Errorf("answer %s", a.body)
	}
	w.mu.Lock()
	w.woke = nil
	w.mu.Unlock()
	a := resolve("resend", `{"app":"`+w.app.ID.String()+`"}`)
	if a.number("resolved") != 1 || a.number("unchanged") != 1 || w.statusOf(second) != "queued" || w.statusOf(canceled) != "unconfirmed" {
		t.Errorf("answer %s", a.body)
	}
	w.mu.Lock()
	if len(w.woke) != 1 || w.woke[0].Profile != w.profile.ID {
		t.Errorf("woke %+v", w.woke)
	}
	w.mu.Unlock()
	v := w.call("GET", "/v1/messages/"+second.String(), w.read, nil)
	if v.at("deliveries", 0, "resent") != true || v.text("deliveries", 0, "reason") != "resend" {
		t.Errorf("message %s", v.body)
	}
	// What becomes of the second copy says nothing of the first.
	w.settles(w.lease(postledger.LaneImmediate, 10), postledger.StatusFailed, postledger.ReasonRejectedRecipient)
	v = w.call("GET", "/v1/messages/"+second.String(), w.read, nil)
	if v.text("status") != "failed" || v.at("failures", 0, "resent") != true || v.at("deliveries", 0, "resent") != true {
		t.Errorf("message %s", v.body)
	}
	if e, ok := w.lastAudit("deliveries.resolve.resend"); !ok || e.APIKeyID.IsZero() {
		t.Errorf("line %+v", e)
	}
}

// A reason chooses by itself, and adds up with the rest of the filter.
func TestDecisionsByReason(t *testing.T) {
	backends(t, func(t *testing.T, w *world) {
		silent, restored, other := w.sent(letter()), w.sent(letter("bob@in.test")), w.sent(letter("cy@in.test"))
		deferred := w.sent(letter("dora@in.test"))
		for _, l := range w.lease(postledger.LaneImmediate, 10) {
			switch l.MessageID {
			case silent:
				w.settles([]ledger.Leased{l}, postledger.StatusUnconfirmed, postledger.ReasonNoAnswer)
			case deferred:
				w.settles([]ledger.Leased{l}, postledger.StatusQueued, postledger.ReasonThrottled)
			default:
				w.settles([]ledger.Leased{l}, postledger.StatusUnconfirmed, postledger.ReasonRestored)
			}
		}
		resolve := func(filter string, want int) {
			t.Helper()
			a := w.call("POST", "/v1/deliveries/resolve", w.admin, `{"action":"sent","filter":`+filter+`}`).want(http.StatusOK)
			if a.number("resolved") != want || a.number("unchanged") != 0 {
				t.Errorf("%s: %s", filter, a.body)
			}
		}
		resolve(`{"reason":"worker_lost"}`, 0)
		resolve(`{"reason":"restored","recipient":"bob@in.test"}`, 1)
		resolve(`{"reason":"restored"}`, 1)
		resolve(`{"reason":"restored"}`, 0)
		for id, want := range map[postledger.ID]string{silent: "unconfirmed", restored: "sent", other: "sent", deferred: "queued"} {
			if got := w.statusOf(id); got != want {
				t.Errorf("%s is %s, want %s", id, got, want)
			}
		}
		w.call("POST", "/v1/messages/cancel", w.send, `{"reason":"restored"}`).want(http.StatusOK)
		a := w.call("POST", "/v1/messages/cancel", w.send, `{"reason":"throttled"}`).want(http.StatusOK)
		if a.number("canceled") != 1 || w.statusOf(deferred) != "canceled" {
			t.Errorf("cancel: %s", a.body)
		}
	})
}

func TestResend(t *testing.T) {
	w := sqlite(t)
	id := w.sent(letter("a@in.test", "b@in.test"))
	path := "/v1/messages/" + id.String() + "/resend"
	w.call("POST", path, w.send, `{}`).refused("not_resendable")
	leased := w.lease(postledger.LaneImmediate, 2)
	w.settles(leased[:1], postledger.StatusSent, postledger.ReasonSandbox)
	w.settles(leased[1:], postledger.StatusFailed, postledger.ReasonRejectedRecipient)
	a := w.call("POST", path, w.send, `{}`, "Idempotency-Key", "again").want(http.StatusAccepted)
	v := w.call("GET", "/v1/messages/"+a.text("id"), w.read, nil).want(http.StatusOK)
	if v.text("resend_of") != id.String() || v.number("recipients") != 1 || v.text("deliveries", 0, "address") != leased[1].Address {
		t.Errorf("message %s", v.body)
	}
	b := w.call("POST", path, w.send, `{"idempotency_key":"again"}`).want(http.StatusAccepted)
	if b.text("id") != a.text("id") || b.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("replay %s", b.body)
	}
	c := w.call("POST", path, w.admin, `{"deliveries":["`+leased[0].ID.String()+`"],"deadline":60}`).want(http.StatusAccepted)
	if v := w.call("GET", "/v1/messages/"+c.text("id"), w.read, nil).want(http.StatusOK); v.text("expires_at") == "" || v.text("app_id") != w.app.ID.String() {
		t.Errorf("message %s", v.body)
	}
	w.call("POST", path, w.send, `{"deliveries":[]}`).refused("bad_input", "deliveries empty")
	w.call("POST", path, w.send, `{"idempotency_key":""}`).refused("bad_input", "idempotency_key empty")
	w.call("POST", path, w.send, `{"deliveries":["`+w.ledger.NewID().String()+`"]}`).refused("bad_input", "deliveries[0] unknown")
	w.call("POST", path, w.send, ``).refused("bad_input", "json")
}

func TestMessageShowsItsHistory(t *testing.T) {
	w := sqlite(t)
	id := w.sent(letter())
	w.settles(w.lease(postledger.LaneImmediate, 1), postledger.StatusFailed, postledger.ReasonRejectedRecipient)
	a := w.call("GET", "/v1/messages/"+id.String(), w.read, nil).want(http.StatusOK)
	if a.text("status") != "failed" || a.number("deliveries", 0, "attempts") != 1 || a.text("settled_at") == "" ||
		a.text("deliveries", 0, "response") != "550 5.1.1 {rcpt} is not here" || a.text("deliveries", 0, "events", 0, "phase") != "rcpt" ||
		a.number("deliveries", 0, "events", 0, "code") != 550 || a.text("failures", 0, "reason") != "rejected_recipient" {
		t.Errorf("message %s", a.body)
	}
}
