package main_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/deliver/crashtest"
)

// feed is what an application wants sent. It repeats what got no answer, under
// the same key, until it gets one.
type feed struct {
	// todo holds what has no answer; it has room for all.
	todo      chan request
	addresses []string
	mu        sync.Mutex
	repeated  int
	open      atomic.Int64 // those without an answer, under way or in todo
}

// request is a batch or a direct message.
type request struct {
	batch   *client.Batch
	message *client.Message
}

// maxRecipients is how many a message of a feed has at most.
const maxRecipients = 5

// inEach is in the text of every message of a feed: the hop refuses one that
// came without its body.
const inEach = "It is on its way."

// newFeed wants two thirds of the deliveries sent in batches of 500 messages,
// three quarters of which share one of three bodies, and the rest by messages to
// one to five recipients. Every address is
// another, and the hop refuses one in 31.
func newFeed(t *testing.T, deliveries int) *feed {
	t.Helper()
	f := &feed{}
	address := func() client.Recipient {
		n := len(f.addresses)
		a := fmt.Sprintf("m%06d@x.example", n)
		if n%31 == 7 {
			a = crashtest.Refused + a
		}
		f.addresses = append(f.addresses, a)
		return client.Recipient{Address: a}
	}
	message := func(recipients int) *client.Message {
		m := &client.Message{Subject: "Order", Text: inEach + "\n", Key: fmt.Sprintf("m%d", len(f.addresses))}
		for range recipients {
			m.To = append(m.To, address())
		}
		return m
	}
	var all []request
	const batch = 500
	for len(f.addresses) < deliveries {
		b := &client.Batch{Key: fmt.Sprintf("b%d", len(f.addresses))}
		for range min(batch, deliveries-len(f.addresses)) {
			m := message(1)
			if n := len(b.Messages) % 4; n > 0 {
				m.Text = strings.Repeat(inEach+"\n", 100*n)
			}
			b.Messages = append(b.Messages, m)
		}
		all = append(all, request{batch: b})
		for end := min(len(f.addresses)+batch/2, deliveries); len(f.addresses) < end; {
			all = append(all, request{message: message(min(1+len(all)%maxRecipients, end-len(f.addresses)))})
		}
	}
	f.todo = make(chan request, len(all))
	f.open.Store(int64(len(all)))
	for _, r := range all {
		f.todo <- r
	}
	return f
}

// refused is how many of its addresses the hop refuses.
func (f *feed) refused() (n int) {
	for _, a := range f.addresses {
		if strings.HasPrefix(a, crashtest.Refused) {
			n++
		}
	}
	return n
}

// give makes requests, four at a time, until none is left or the server dies.
func (f *feed) give(t *testing.T, api string, app []string, dead <-chan struct{}) {
	c, err := client.New(api, strings.TrimPrefix(app[1], "POSTLEDGER_API_KEY="))
	if err != nil {
		t.Error(err)
		return
	}
	defer c.CloseIdleConnections()
	ctx, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	defer func() { cancel(); <-watched }()
	go func() {
		defer close(watched)
		select {
		case <-dead:
			cancel()
		case <-ctx.Done():
		}
	}()
	var givers sync.WaitGroup
	for range 4 {
		givers.Go(func() {
			for f.one(t, ctx, c) {
			}
		})
	}
	givers.Wait()
}

// one makes a request; it reports whether there may be more.
func (f *feed) one(t *testing.T, ctx context.Context, c *client.Client) bool {
	var r request
	select {
	case r = <-f.todo:
	default:
		return false
	}
	var err error
	if r.batch != nil {
		_, err = c.SendBatch(ctx, r.batch)
	} else {
		_, err = c.Send(ctx, r.message)
	}
	if err == nil {
		f.open.Add(-1)
		return true
	}
	f.todo <- r
	f.mu.Lock()
	f.repeated++
	f.mu.Unlock()
	if ctx.Err() == nil {
		t.Errorf("a living server refuses: %v", err)
	}
	return false
}
