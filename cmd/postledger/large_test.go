package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

// B13: a burst of very large messages, through a next hop that reads slowly.
// Those over the limit are refused by name, the others leave once each, and
// neither the burst, nor the backlog, nor a start before it needs more than
// 256 MiB (invariant 9).
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) {
			t.Parallel()
			largeMessages(t, db, 6, 24<<20)
		})
	}
}

// 300 messages of 9 MB, as they were reported, on each database. At the 64 KiB/s
// that were reported one message takes 144 s, and the memory for bodies has room
// for two at a time, one a lane: that would be six hours. At 4 MiB/s what is
// left after the burst takes about as long as the burst.
func TestLargeMessagesLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) { largeMessages(t, db, 300, 4<<20) })
	}
}

const (
	largeBody   = 9_000_000
	memoryLimit = 256 << 20
	// largePatience is how long 300 of them may take.
	largePatience = 15 * time.Minute
)

func largeMessages(t *testing.T, db string, messages, rate int) {
	r := newRelay(t, sink.Config{BytesPerSecond: rate})
	p, args := newPlace(t), []string(nil)
	if db == "postgres" {
		p, args = onPostgres(t), []string{"--migrate"}
	}
	s, app := relayed(t, p, r, args...)
	within := func(what string) {
		t.Helper()
		peak := s.peak(t)
		t.Logf("%s: at most %d MiB", what, peak>>20)
		// The race detector's shadow is several times what it watches.
		if !raced && peak >= memoryLimit {
			t.Errorf("%s: the process had %d MiB", what, peak>>20)
		}
	}
	burst(t, s.client(t, app), 0, messages/2)
	within("the burst")
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.logged())
	}
	s = p.start(t)
	burst(t, s.client(t, app), messages/2, messages)
	within("a start in the middle, and the rest")

	ctx, cancel := context.WithTimeout(t.Context(), largePatience)
	defer cancel()
	n := allSettled(ctx, t, s.client(t, app))
	within("the backlog")
	if len(n) != 1 || n[postledger.StatusSent] != messages {
		t.Errorf("%v", n)
	}
	for who, k := range r.copies(t) {
		if k != 1 {
			t.Errorf("%s got %d copies", who, k)
		}
	}
	if got := r.sink.Counts().Bytes; got < int64(messages)*largeBody {
		t.Errorf("the hop has %d bytes", got)
	}
	books(t, p)
}

// burst sends the messages numbered from begin to end, two at a time and each
// second one in a batch, and one that is too large.
func burst(t *testing.T, c *client.Client, begin, end int) {
	t.Helper()
	todo := make(chan int)
	var senders sync.WaitGroup
	for range 2 {
		senders.Go(func() {
			for i := range todo {
				m := &client.Message{
					Subject: "Report", HTML: largeHTML(i, largeBody), Key: fmt.Sprintf("m%d", i),
					To: client.To(fmt.Sprintf("u%03d@example.com", i)),
				}
				var err error
				if i%2 == 0 {
					_, err = c.Send(t.Context(), m)
				} else {
					_, err = c.SendBatch(t.Context(), &client.Batch{Messages: []*client.Message{m}})
				}
				if err != nil {
					t.Errorf("message %d: %v", i, err)
				}
			}
		})
	}
	for i := begin; i < end; i++ {
		todo <- i
	}
	close(todo)
	senders.Wait()
	_, err := c.Send(t.Context(), &client.Message{
		Subject: "Report", HTML: largeHTML(0, 10<<20), Text: "x", To: client.To("over@example.com"),
	})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != "bad_input" ||
		!strings.Contains(err.Error(), "text and html are larger than 10485760 bytes together") {
		t.Errorf("over the limit: %v", err)
	}
}

// allSettled waits until nothing is queued or sending, and counts the states.
func allSettled(ctx context.Context, t *testing.T, c *client.Client) map[postledger.Status]int {
	t.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		n := map[postledger.Status]int{}
		for d, err := range c.Deliveries(ctx, client.DeliveryFilter{PageSize: 1000}) {
			if err != nil {
				t.Fatalf("wait until all is settled: %v (%v)", err, n)
			}
			n[d.Status]++
		}
		if settled(n) {
			return n
		}
		<-tick.C
	}
}

// largeHTML is a page of so many bytes, another for each number.
func largeHTML(n, size int) string {
	var b strings.Builder
	b.Grow(size)
	for i := 0; b.Len() < size-100; i++ {
		fmt.Fprintf(&b, "<tr><td>%d.%d</td><td>Ordered, and on its way to you</td></tr>\n", n, i)
	}
	b.WriteString(strings.Repeat("x", size-b.Len()))
	return b.String()
}

// peak is the most memory that the process has had, in bytes.
func (s *server) peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	kib, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
