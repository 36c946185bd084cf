package main_test

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// B29: the next hop drops the connection after the 37th message, without an
// answer, and refuses us from then on, so that the profile is paused by itself;
// it is resumed, and the same happens at the 61st. Nobody is mailed twice and
// nobody is skipped; in doubt are the two that had no answer, and the counts are
// the hop's.
func TestAPauseInTheMiddleOfABatch(t *testing.T) {
	t.Parallel()
	const messages = 100
	var refuses atomic.Bool
	var taken atomic.Int64
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepGreeting, When: refuses.Load, Do: transporttest.Goodbye("554 5.7.1 not from here")},
		{
			At: transporttest.StepDot,
			When: func() bool {
				n := taken.Add(1)
				return n == 37 || n == 61
			},
			Do: transporttest.Action{Hook: func() { refuses.Store(true) }, Keep: true, Drop: true},
		},
	}})
	p := newPlace(t)
	s := p.start(t)
	operator := s.operator(t)
	command(t, operator, "profiles", "put", "relay", "--from", "shop@example.org", "--transport", "smtp",
		"--host", "127.0.0.1", "--port", strconv.Itoa(hop.Port()), "--tls", "none", "--connections", "2").expect(t, 0)
	c := s.client(t, s.appKey(t, "shop"))
	if _, err := c.SendBatch(t.Context(), batchOf(messages)); err != nil {
		t.Fatal(err)
	}
	limit := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for pauses := 1; pauses <= 2; pauses++ {
		for strings.Count(s.logged(), "profile is paused with an alarm") < pauses {
			select {
			case <-tick.C:
			case <-limit:
				t.Fatalf("it is not paused: %s", s.logged())
			}
		}
		refuses.Store(false)
		command(t, operator, "profiles", "resume", "relay").expect(t, 0)
	}
	n := until(t, c, "all is settled", settled)
	if n[postledger.StatusUnconfirmed] != 2 || n[postledger.StatusSent] != messages-2 {
		t.Errorf("%v", n)
	}
	copies := map[string]int{}
	for _, a := range hop.Accepted() {
		copies[a.Recipients[0]]++
	}
	for who, k := range copies {
		if k != 1 {
			t.Errorf("%s got %d copies", who, k)
		}
	}
	if len(copies) != messages {
		t.Errorf("%d were mailed, want %d", len(copies), messages)
	}
	books(t, p)
}
