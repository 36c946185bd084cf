package main_test

import (
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

// A process whose database falls silent while another's does not: it starts no
// transaction, the other declares it lost and goes on, and when it hears of its
// ledger again its answers count, so that nothing was sent twice and nothing
// that it knows of stays in doubt (invariants 3, 4 and 5). One whose journal the other can see is
// known to live, and goes on; any other is ended, and stops when it hears so.
func TestSilentBesideAnother(t *testing.T) {
	t.Parallel()
	for name, sameMachine := range map[string]bool{"same machine": true, "another machine": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A busy machine can keep the one from its heartbeat before it is cut off.
			for range 3 {
				if silentBesideAnother(t, sameMachine) {
					return
				}
			}
			t.Error("it held no lease when it fell silent: the test has shown nothing")
		})
	}
}

// silentBesideAnother is false when nothing was leased at that moment.
func silentBesideAnother(t *testing.T, sameMachine bool) bool {
	const messages = 400
	r := newRelay(t, sink.Config{LateEvery: 1, Late: 50 * time.Millisecond})
	p := onPostgres(t, shortOutage().set...)
	cut, proxy := p.behindProxy(t)
	if !sameMachine {
		cut.dir = t.TempDir()
		cut.env = append(cut.env, "POSTLEDGER_DATA_DIR="+cut.dir)
	}
	s1 := cut.start(t, "--migrate")
	command(t, s1.operator(t), "profiles", "put", "relay", "--from", "shop@example.org", "--transport", "smtp",
		"--host", "127.0.0.1", "--port", r.port, "--tls", "none", "--connections", "4").expect(t, 0)
	app := s1.appKey(t, "shop")
	c1 := s1.client(t, app)
	if _, err := c1.SendBatch(t.Context(), batchOf(messages)); err != nil {
		t.Fatal(err)
	}
	// A machine that is busy can keep it from its heartbeat: then it has given its
	// leases back, and is not to be cut off at that moment.
	until(t, c1, "some were sent, and more are leased", func(n map[postledger.Status]int) bool {
		return n[postledger.StatusSent] >= 40 && n[postledger.StatusSending] > 0
	})
	proxy.Blackhole(true)
	s2 := p.start(t)
	c2 := s2.client(t, app)
	n := until(t, c2, "the one is lost, and the other has sent the rest", settled)
	if n[postledger.StatusUnconfirmed] == 0 {
		return false
	}
	if (&outage{t: t, server: s1}).ready() {
		t.Error("it is ready, and has no database")
	}
	proxy.Blackhole(false)
	// But for a lease whose COMMIT got no answer: the one has never heard of it,
	// and the other cannot know that. It was never sent.
	const leaseMax = 8
	known := func(n map[postledger.Status]int) bool {
		return settled(n) && n[postledger.StatusSent] >= messages-leaseMax && n[postledger.StatusSent]+n[postledger.StatusUnconfirmed] >= messages
	}
	until(t, c2, "its answers count", known)
	for who, k := range r.copies(t) {
		if k != 1 {
			t.Errorf("%s got %d copies", who, k)
		}
	}
	if sameMachine {
		message := &client.Message{To: []client.Recipient{{Address: "last@x.example"}}, Subject: "x", Text: "x"}
		if _, err := c1.Send(t.Context(), message); err != nil {
			t.Errorf("it does not accept again: %v", err)
		}
		until(t, c2, "the last is sent", func(n map[postledger.Status]int) bool {
			return settled(n) && n[postledger.StatusSent]+n[postledger.StatusUnconfirmed] == messages+1
		})
		if code := s1.signal(t, syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d: %s", code, lastOf(s1.logged(), 4000))
		}
	} else if code := s1.wait(t); code != 1 || !strings.Contains(s1.logged(), "the worker must not go on") {
		t.Errorf("exit code %d: %s", code, lastOf(s1.logged(), 4000))
	}
	if code := s2.signal(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, lastOf(s2.logged(), 4000))
	}
	books(t, p)
	return true
}

// behindProxy is the same place, with a proxy between it and its database.
func (p place) behindProxy(t *testing.T) (place, *testserver.TCPProxy) {
	t.Helper()
	var proxy *testserver.TCPProxy
	env := slices.Clone(p.env)
	for i, v := range env {
		if text, ok := strings.CutPrefix(v, "POSTLEDGER_DATABASE="); ok {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			proxy = testserver.Proxy(t, u.Host)
			u.Host = proxy.Addr()
			env[i] = "POSTLEDGER_DATABASE=" + u.String()
		}
	}
	return place{p.dir, env}, proxy
}
