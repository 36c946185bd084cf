package main_test

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/app/killpoint"
	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

// At every kill point of the real binary: the caller repeats what got no
// answer, the next start recovers, and each recipient has one copy, or at most
// one and an open question (invariants 1, 4, 5 and 6).
func TestKillPoints(t *testing.T) {
	t.Parallel()
	for _, point := range killpoint.Names() {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			killAt(t, point)
		})
	}
}

const killMessages = 24

func killAt(t *testing.T, point string) {
	r := newRelay(t, sink.Config{})
	p := newPlace(t)
	s, app := relayed(t, p, r)
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.logged())
	}
	armed := func(at string) *server {
		return place{p.dir, append([]string{"POSTLEDGER_KILL_AT=" + at}, p.env...)}.startArmed(t)
	}
	b := batchOf(killMessages)
	b.Messages[0].Attachments = []client.Attachment{client.Bytes("a.txt", "text/plain", []byte("x"))}
	if point == "wire_body" {
		for _, m := range b.Messages {
			m.Text = strings.Repeat("0123456789\n", 30_000) // more than one block
		}
	}
	if point == "recovery_read" {
		s = armed("lease_committed:1")
		s.submit(t, app, b)
		killed(t, s)
		killed(t, armed("recovery_read:1"))
	} else {
		// Not the first time, so that something was done before.
		at := ":1"
		if strings.HasPrefix(point, "wire_") || strings.HasPrefix(point, "settle") {
			at = ":2"
		}
		s = armed(point + at)
		s.submit(t, app, b)
		killed(t, s)
	}
	s = p.start(t)
	c := s.client(t, app)
	a, err := c.SendBatch(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	n := until(t, c, "all has settled", settled)
	if len(a.Messages) != killMessages || n[postledger.StatusSent]+n[postledger.StatusUnconfirmed] != killMessages {
		t.Fatalf("%d accepted, %v", len(a.Messages), n)
	}
	const connections = 8
	if n[postledger.StatusUnconfirmed] > connections {
		t.Errorf("%d are unconfirmed: more than had a dot in flight", n[postledger.StatusUnconfirmed])
	}
	copies := r.copies(t)
	for d, err := range c.Deliveries(t.Context(), client.DeliveryFilter{PageSize: 1000}) {
		if err != nil {
			t.Fatal(err)
		}
		if k := copies[d.Address]; k > 1 || k == 0 && d.Status == postledger.StatusSent {
			t.Errorf("%s is %s and has %d copies", d.Address, d.Status, k)
		}
	}
	books(t, p)
}

// startArmed starts a server that may be gone before it serves.
func (p place) startArmed(t *testing.T) *server {
	t.Helper()
	s, up := p.launch(t)
	select {
	case <-up:
	case <-s.done:
	}
	return s
}

// submit sends a batch to a server that dies of it, sooner or later.
func (s *server) submit(t *testing.T, app []string, b *client.Batch) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { <-s.done; cancel() }()
	_, _ = s.client(t, app).SendBatch(ctx, b) // whether it got an answer does not matter
}

// killed waits for the end by the kill point.
func killed(t *testing.T, s *server) {
	t.Helper()
	s.wait(t)
	if ws, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		t.Fatalf("it was not killed: %v: %s", s.cmd.ProcessState, s.logged())
	}
}
