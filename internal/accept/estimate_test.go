package accept_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// counter counts what it is told waits, and how often it was asked.
type counter struct {
	n     int64
	asked int
	err   error
	takes func()
}

func (c *counter) CountWaiting(_ context.Context, _ postledger.ID, upTo int64) (int64, error) {
	c.asked++
	if c.takes != nil {
		c.takes()
	}
	return min(c.n, upTo), c.err
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	c := &counter{n: 10}
	e := accept.NewEstimate(c, func() time.Time { return now })
	p := postledger.ID{1}
	check := func(what string, profile postledger.ID, upTo, want int64, asked int) {
		t.Helper()
		n, err := e.Waiting(t.Context(), profile, upTo)
		must(t, err)
		equal(t, what, n, want)
		equal(t, what+": asked", c.asked, asked)
	}
	e.Added(p, 3) // before the first count, which will see them
	check("first", p, 100, 10, 1)
	check("all", postledger.ID{}, 100, 10, 2)
	e.Added(p, 5)
	check("added", p, 100, 15, 2)
	check("added to all", postledger.ID{}, 100, 15, 2)
	check("less is known", p, 50, 15, 2)
	c.n = 12
	check("more is not", p, 1000, 12, 3)
	now = now.Add(4 * time.Second)
	check("young", p, 1000, 12, 3)
	now = now.Add(2 * time.Second)
	check("old", p, 1000, 12, 4)

	// A slow count is kept for twenty times as long as it took, and what is
	// added meanwhile is not forgotten.
	c.takes = func() { now = now.Add(time.Second); e.Added(p, 7) }
	now = now.Add(time.Minute)
	check("slow", p, 1000, 19, 5)
	now = now.Add(19 * time.Second)
	check("kept", p, 1000, 19, 5)
	c.takes = nil
	now = now.Add(2 * time.Second)
	check("counted again", p, 1000, 12, 6)

	c.err = errors.New("connection refused")
	now = now.Add(time.Minute)
	if _, err := e.Waiting(t.Context(), p, 1000); !errors.Is(err, c.err) {
		t.Errorf("got %v", err)
	}
	c.err = nil
	check("after a failure", p, 1000, 12, 8)
}
