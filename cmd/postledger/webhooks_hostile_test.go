package main_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

// answering is an endpoint that does one thing, and counts how often it was asked.
func answering(t *testing.T, do http.HandlerFunc) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		do(w, r)
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

// An app has ten endpoints: some work, one never answers, one is gone, one fails, one
// sends elsewhere, one is removed while events wait for it, one gets another secret,
// and the process is killed. Those that work hear of everything, nobody is sent where
// a redirect leads, and what cannot be delivered holds up neither mail nor the end.
func TestTenEndpointsOfWhichHalfMisbehave(t *testing.T) {
	t.Parallel()
	relay := newRelay(t, sink.Config{})
	p := newPlace(t, loopback)
	s, app := relayed(t, p, relay)
	add := func(url string) string {
		out := command(t, app, "webhooks", "add", url, "--json", "--out", filepath.Join(t.TempDir(), "secret")).expect(t, 0).stdout
		var w struct{ ID string }
		if err := json.Unmarshal([]byte(out), &w); err != nil || w.ID == "" {
			t.Fatalf("it prints %s (%v)", out, err)
		}
		return w.ID
	}
	release := make(chan struct{})
	trap, trapped := answering(t, func(http.ResponseWriter, *http.Request) {})
	hanging, _ := answering(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) }) // before its server closes
	gone, _ := answering(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	failing, _ := answering(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	moved, _ := answering(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, trap.URL, http.StatusTemporaryRedirect)
	})
	var healthy []*receiver
	var ids []string
	for range 5 {
		r := newReceiver(t)
		healthy = append(healthy, r)
		ids = append(ids, s.hooked(t, app, r))
	}
	goneID, removedID := add(gone.URL), add(hanging.URL+"/removed")
	for _, url := range []string{hanging.URL, failing.URL, moved.URL} {
		add(url)
	}
	const messages = 100
	first, second := batchOf(messages), batchOf(messages)
	first.Key, second.Key = "first", "second"
	s.submit(t, app, first)
	eventually(t, "the first event arrives", func() bool {
		healthy[0].mu.Lock()
		defer healthy[0].mu.Unlock()
		return len(healthy[0].events) > 0
	})
	command(t, app, "webhooks", "rotate", ids[1], "--overlap", "1h", "--out", filepath.Join(t.TempDir(), "next")).expect(t, 0)
	command(t, app, "webhooks", "rm", removedID).expect(t, 0, "removed")
	s.signal(t, syscall.SIGKILL)
	s = p.start(t)
	s.submit(t, app, second)
	c := s.client(t, app)
	until(t, c, "all has settled", settled)
	for i, r := range healthy {
		var missing []string
		eventually(t, "every event arrives at an endpoint that works", func() bool {
			var all int
			missing, all = r.missing(t, c)
			return len(missing) == 0 && all >= 2*messages
		})
		r.mu.Lock()
		for _, err := range r.bad {
			t.Errorf("endpoint %d: not verified: %v", i, err)
		}
		for what, events := range r.events {
			if len(events) != 1 {
				t.Errorf("endpoint %d: %s arrived under %d ids", i, what, len(events))
			}
		}
		r.mu.Unlock()
	}
	command(t, []string{strings.SplitAfter(app[0], "=")[0] + s.api, app[1]}, "webhooks", "show", goneID).expect(t, 0, "410")
	if n := trapped.Load(); n > 0 {
		t.Errorf("a redirect was followed %d times", n)
	}
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, s.logged())
	}
}
