package main_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger/client"
)

// crowd is what applications do while the ledger is in trouble: each of its
// members sends one message after the other, and repeats what was refused under
// the same key until it is accepted.
type crowd struct {
	t   *testing.T
	c   *client.Client
	app []string
	// size is of a message's text.
	size int
	// bound is how long an answer may take, whatever it says.
	bound time.Duration

	mu       sync.Mutex
	asked    int
	accepted int
	refused  int
	slowest  time.Duration
	stop     context.CancelFunc
	running  sync.WaitGroup
}

const (
	crowdMembers = 4
	// crowdPace is how long a member rests after each answer. It does not
	// wait for as long as Retry-After asks: the server must bear that.
	crowdPace = 20 * time.Millisecond
)

func newCrowd(t *testing.T, s *server, app []string) *crowd {
	t.Helper()
	c, err := client.New(s.api, strings.TrimPrefix(app[1], "POSTLEDGER_API_KEY="), client.WithRetry(client.Retry{Tries: 1}))
	if err != nil {
		t.Fatal(err)
	}
	return &crowd{t: t, c: c, app: app, size: 100, bound: patience}
}

func (c *crowd) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	for range crowdMembers {
		c.running.Go(func() { c.member(ctx) })
	}
}

// end returns when everything that was asked for is accepted.
func (c *crowd) end() {
	c.t.Helper()
	c.stop()
	done := make(chan struct{})
	go func() { c.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(3 * patience):
		c.t.Fatal("what was refused is not accepted in the end")
	}
	c.c.CloseIdleConnections()
}

func (c *crowd) member(ctx context.Context) {
	pace := time.NewTicker(crowdPace)
	defer pace.Stop()
	for ctx.Err() == nil {
		c.mu.Lock()
		n := c.asked
		c.asked++
		c.mu.Unlock()
		m := &client.Message{
			To: []client.Recipient{{Address: crowdAddress(n)}}, Subject: "Order",
			Text: strings.Repeat("x", c.size) + "\n", Key: fmt.Sprintf("c%d", n),
		}
		for !c.ask(m) {
			if c.t.Failed() {
				return
			}
			<-pace.C
		}
		<-pace.C
	}
}

func crowdAddress(n int) string { return fmt.Sprintf("c%06d@x.example", n) }

// ask reports whether the message was accepted. A refusal must be the one that
// says to come again.
func (c *crowd) ask(m *client.Message) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	began := time.Now()
	_, err := c.c.Send(ctx, m)
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slowest = max(c.slowest, took)
	if took > c.bound {
		c.t.Errorf("an answer took %v, more than %v: %v", took, c.bound, err)
	}
	if err == nil {
		c.accepted++
		return true
	}
	c.refused++
	var e *client.Error
	if !errors.As(err, &e) || e.Status != http.StatusServiceUnavailable || e.Code != client.ErrMailUnavailable || e.RetryAfter <= 0 {
		c.t.Errorf("refused with %v", err)
	}
	return false
}

// counts are the answers so far, and the slowest since the last look.
func (c *crowd) counts() (accepted, refused int, slowest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	slowest, c.slowest = c.slowest, 0
	return c.accepted, c.refused, slowest
}
