package main_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // registers the driver that breaks a ledger below

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

func TestOneServerAtATime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	p.run(t, "serve").expect(t, 1, "in use by another process")
	p.run(t, "migrate", "down").expect(t, 1, "in use by another process")
	p.run(t, "restored").expect(t, 1, "in use by another process")
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.logged())
	}
	// A killed one leaves no lock.
	s = p.start(t)
	s.signal(t, syscall.SIGKILL)
	if code := p.start(t).signal(t, syscall.SIGINT); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestListenersThatAreTaken(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	taken := strings.TrimPrefix(s.api, "http://")
	newPlace(t, "POSTLEDGER_HTTP="+taken).run(t, "serve").expect(t, 1, "listen: ", "address already in use")
	newPlace(t, "POSTLEDGER_ADMIN_HTTP="+taken).run(t, "serve").expect(t, 1, "listen: ", "address already in use")
	newPlace(t, "POSTLEDGER_ADMIN_HTTP=off").start(t).signal(t, syscall.SIGTERM)
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	get := func(url string) (int, string) {
		t.Helper()
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	for url, want := range map[string]string{
		s.api + "/healthz": "ok", s.api + "/readyz": "ok", s.admin + "/healthz": "ok",
		s.admin + "/readyz": `"ready": true`, s.admin + "/metrics": "postledger_build_info",
		s.admin + "/debug/pprof/goroutine?debug=1": "goroutine profile",
	} {
		if code, body := get(url); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", url, code, body)
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		if code, _ := get(s.api + path); code != http.StatusNotFound {
			t.Errorf("%s is public: %d", path, code)
		}
	}
	if strings.Contains(s.logged(), "pl_op_") {
		t.Error("a key is logged")
	}
}

// relay is a next hop with a record of every copy it took.
type relay struct {
	sink   *sink.Server
	record string
	port   string
}

func newRelay(t *testing.T, c sink.Config) *relay {
	t.Helper()
	r := &relay{record: filepath.Join(t.TempDir(), "record")}
	c.Record = r.record
	var err error
	if r.sink, err = sink.New(c); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, r.port, _ = net.SplitHostPort(ln.Addr().String())
	done := make(chan error, 1)
	go func() { done <- r.sink.Serve(ln) }()
	t.Cleanup(func() {
		if err := r.sink.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return r
}

// copies counts what was taken by recipient.
func (r *relay) copies(t *testing.T) map[string]int {
	t.Helper()
	f, err := os.Open(r.record)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		for word := range strings.FieldsSeq(lines.Text()) {
			if strings.Contains(word, "@example.com") {
				out[word]++
			}
		}
	}
	return out
}

// relayed makes a server whose default profile sends to a relay.
func relayed(t *testing.T, p place, r *relay, args ...string) (s *server, app []string) {
	t.Helper()
	s = p.start(t, args...)
	command(t, s.operator(t), "profiles", "put", "relay", "--from", "shop@example.org", "--transport", "smtp",
		"--host", "127.0.0.1", "--port", r.port, "--tls", "none", "--connections", "8").expect(t, 0)
	return s, s.appKey(t, "shop")
}

func batchOf(n int) *client.Batch {
	b := &client.Batch{Key: "batch"}
	for i := range n {
		b.Messages = append(b.Messages, &client.Message{To: client.To(fmt.Sprintf("u%03d@example.com", i)), Subject: "News", Text: "There is news.\n"})
	}
	return b
}

// A stop in the middle of sending leaves nothing in doubt, and the next start
// sends the rest: each recipient gets one copy.
func TestStopWhileSending(t *testing.T) {
	t.Parallel()
	const messages = 200
	r := newRelay(t, sink.Config{LateEvery: 1, Late: 30 * time.Millisecond})
	p := newPlace(t)
	s, app := relayed(t, p, r)
	c := s.client(t, app)
	if _, err := c.SendBatch(t.Context(), batchOf(messages)); err != nil {
		t.Fatal(err)
	}
	until(t, c, "some were sent", func(n map[postledger.Status]int) bool { return n[postledger.StatusSent] >= 10 })
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.logged())
	}
	states := books(t, p)
	if states["unconfirmed"] != 0 || states["sending"] != 0 || states["queued"] == 0 || states["sent"] < 10 {
		t.Fatalf("after the stop: %v", states)
	}
	if taken := len(r.copies(t)); taken != states["sent"] {
		t.Errorf("the hop took %d, the ledger says %d", taken, states["sent"])
	}
	s = p.start(t)
	until(t, s.client(t, app), "all is settled", settled)
	if states := books(t, p); states["sent"] != messages {
		t.Errorf("in the end: %v", states)
	}
	once(t, r, messages)
}

// once fails unless each recipient got exactly one copy.
func once(t *testing.T, r *relay, messages int) {
	t.Helper()
	copies := r.copies(t)
	for who, n := range copies {
		if n != 1 {
			t.Errorf("%s got %d copies", who, n)
		}
	}
	if len(copies) != messages {
		t.Errorf("%d recipients got a copy, want %d", len(copies), messages)
	}
}

// books runs the command and returns the states; they must balance.
func books(t *testing.T, p place) map[string]int {
	t.Helper()
	r := p.run(t, "books", "--json").expect(t, 0)
	var out struct {
		States  map[string]int
		Sandbox int
	}
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		t.Fatal(err)
	}
	out.States["sandbox"] = out.Sandbox
	return out.States
}

// The second signal does not wait for the wire.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	r := newRelay(t, sink.Config{LateEvery: 1, Late: time.Hour})
	p := newPlace(t)
	s, app := relayed(t, p, r)
	c := s.client(t, app)
	if _, err := c.Send(t.Context(), batchOf(1).Messages[0]); err != nil {
		t.Fatal(err)
	}
	until(t, c, "it is on the wire", func(n map[postledger.Status]int) bool { return n[postledger.StatusSending] == 1 })
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); len(r.copies(t)) == 0 && time.Now().Before(end); {
		<-tick.C // until the final dot was read
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); !strings.Contains(s.logged(), `"stopping"`) && time.Now().Before(end); {
		<-tick.C
	}
	began := time.Now()
	s.signal(t, syscall.SIGTERM)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	// The journal knows that its dot was sent.
	s = p.start(t)
	n := until(t, s.client(t, app), "it is settled", settled)
	if n[postledger.StatusUnconfirmed] != 1 {
		t.Errorf("%v", n)
	}
}

// A stop takes no longer than it may, whatever the next hop does. What has no
// answer then is in doubt, and the journal says so.
func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	r := newRelay(t, sink.Config{LateEvery: 1, Late: time.Hour})
	p := newPlace(t, "POSTLEDGER_STOP_TIMEOUT=1s")
	s, app := relayed(t, p, r)
	c := s.client(t, app)
	if _, err := c.Send(t.Context(), batchOf(1).Messages[0]); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); len(r.copies(t)) == 0 && time.Now().Before(end); {
		<-tick.C // until the final dot was read
	}
	if code := s.signal(t, syscall.SIGTERM); code != 1 || !strings.Contains(s.logged(), "stop_timeout") {
		t.Errorf("exit code %d: %s", code, s.logged())
	}
	n := until(t, p.start(t).client(t, app), "it is settled", settled)
	if n[postledger.StatusUnconfirmed] != 1 {
		t.Errorf("%v", n)
	}
}

// A ledger that does not know its worker any more ends the process: what it
// would send could have been sent by another.
func TestAWorkerThatMustNotGoOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "POSTLEDGER_TIMINGS__HEARTBEAT=50ms", "POSTLEDGER_TIMINGS__STALE_AFTER=5s", "POSTLEDGER_TIMINGS__LOST_AFTER=10s")
	s := p.start(t)
	db, err := sql.Open("sqlite", "file:"+p.database()+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), "DELETE FROM workers"); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(t); code != 1 || !strings.Contains(s.logged(), "the worker must not go on") {
		t.Errorf("exit code %d: %s", code, s.logged())
	}
}
