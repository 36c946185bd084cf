package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
)

// Invariant 1 by the header: bare or quoted, it is the same key.
func TestIdempotencyKey(t *testing.T) {
	w := sqlite(t)
	first := w.call("POST", "/v1/messages", w.send, letter(), "Idempotency-Key", `order-"4711"`).want(http.StatusAccepted)
	for _, header := range []string{`order-"4711"`, `"order-\"4711\""`, `  order-"4711"  `} {
		a := w.call("POST", "/v1/messages", w.send, letter(), "Idempotency-Key", header).want(http.StatusAccepted)
		if a.text("id") != first.text("id") || a.at("replayed") != true || a.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %s", header, a.body)
		}
	}
	a := w.call("POST", "/v1/messages", w.send, with(letter(), "idempotency_key", `order-"4711"`)).want(http.StatusAccepted)
	if a.text("id") != first.text("id") {
		t.Errorf("in the body: %s", a.body)
	}
	w.call("POST", "/v1/messages", w.send, letter("eve@in.test"), "Idempotency-Key", `order-"4711"`).refused("idempotency_mismatch")
	// Another app's key is another key.
	if f := w.call("POST", "/v1/messages", w.foreign, letter(), "Idempotency-Key", `order-"4711"`).want(http.StatusAccepted); f.text("id") == first.text("id") {
		t.Error("apps share keys")
	}
	for header, rule := range map[string]string{
		`"open`: "syntax", `"a"b`: "syntax", `"a\b"`: "syntax", `""`: "syntax", "\"tab\t\"": "syntax", "tab\there": "control", "ümlaut": "control",
	} {
		w.call("POST", "/v1/messages", w.send, letter(), "Idempotency-Key", header).refused("bad_input", "Idempotency-Key "+rule)
	}
	w.call("POST", "/v1/messages", w.send, letter(), "Idempotency-Key", strings.Repeat("k", 256)).refused("bad_input", "idempotency_key too_long")
	w.call("POST", "/v1/messages", w.send, with(letter(), "idempotency_key", "a"), "Idempotency-Key", "b").refused("bad_input", "idempotency_key mismatch")
}

// B24: racers with one key make one message; a first try that failed does not
// lock it.
func TestRacersWithOneKey(t *testing.T) {
	backends(t, func(t *testing.T, w *world) {
		w.call("POST", "/v1/messages", w.send, with(letter(), "subject", "a\nb"), "Idempotency-Key", "k-19").refused("bad_input")
		var wg sync.WaitGroup
		answers := make([]*answer, 25)
		for i := range answers {
			wg.Go(func() { answers[i] = w.call("POST", "/v1/messages", w.send, letter(), "Idempotency-Key", "k-19") })
		}
		wg.Wait()
		ids, fresh := map[string]bool{}, 0
		for _, a := range answers {
			a.want(http.StatusAccepted)
			ids[a.text("id")] = true
			if a.at("replayed") == false {
				fresh++
			}
		}
		if len(ids) != 1 || fresh != 1 {
			t.Errorf("%d messages, %d of them fresh", len(ids), fresh)
		}
		if p := w.call("GET", "/v1/deliveries", w.read, nil).want(http.StatusOK); len(items(p, "id")) != 1 {
			t.Errorf("%d deliveries", len(items(p, "id")))
		}
	})
}

func TestPreferWait(t *testing.T) {
	w := sqlite(t)
	// deliver ends what is accepted, as a worker would.
	deliver := func(to postledger.Status, reason postledger.Reason) func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				if l := w.lease(postledger.LaneImmediate, 10); len(l) > 0 {
					w.settles(l, to, reason)
					return
				}
			}
		}()
		return func() { <-done }
	}
	wait := deliver(postledger.StatusSent, postledger.ReasonSandbox)
	a := w.call("POST", "/v1/messages", w.send, letter(), "Prefer", "wait=20").want(http.StatusOK)
	wait()
	if a.text("status") != "sent" || a.number("counts", "sent") != 1 || a.header.Get("Preference-Applied") != "wait=20" {
		t.Errorf("answer %v %s", a.header, a.body)
	}
	wait = deliver(postledger.StatusFailed, postledger.ReasonRejectedRecipient)
	a = w.call("POST", "/v1/messages", w.send, letter(), "Prefer", `respond-async, WAIT = "20" ; x`).want(http.StatusOK)
	wait()
	if a.text("status") != "failed" || a.text("failures", 0, "reason") != "rejected_recipient" || a.text("failures", 0, "recipient") != "ada@in.test" {
		t.Errorf("answer %s", a.body)
	}
	wait = deliver(postledger.StatusQueued, postledger.ReasonDeferred)
	a = w.call("POST", "/v1/messages", w.send, letter(), "Prefer", "wait=20").want(http.StatusAccepted)
	wait()
	if a.text("status") != "queued" || a.number("counts", "queued") != 1 {
		t.Errorf("answer %s", a.body)
	}
	// Nobody delivers: the time ends and the message is accepted all the same.
	a = w.call("POST", "/v1/messages", w.send, letter(), "Prefer", "wait=1").want(http.StatusAccepted)
	if a.text("status") != "queued" {
		t.Errorf("answer %s", a.body)
	}
	// What does not leave now is answered at once.
	for _, later := range []map[string]any{with(letter(), "lane", "bulk"), with(letter(), "send_at", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))} {
		a = w.call("POST", "/v1/messages", w.send, later, "Prefer", "wait=30").want(http.StatusAccepted)
		if a.header.Get("Preference-Applied") != "" || a.text("status") != "" {
			t.Errorf("answer %v %s", a.header, a.body)
		}
	}
	// A waiter that cannot wait refuses nothing.
	w.waiters.Close()
	if a = w.call("POST", "/v1/messages", w.send, letter(), "Prefer", "wait=5").want(http.StatusAccepted); a.text("id") == "" {
		t.Errorf("answer %s", a.body)
	}
	for _, bad := range []string{"wait=31", "wait=-1", "wait=x", "wait=", "wait"} {
		w.call("POST", "/v1/messages", w.send, letter(), "Prefer", bad).refused("bad_input", "Prefer range")
	}
	for n, ok := range []string{"return=minimal", "handling=lenient", "wait=0"} {
		w.call("POST", "/v1/messages", w.send, letter("u"+strconv.Itoa(n)+"@in.test"), "Prefer", ok).want(http.StatusAccepted)
	}
}
