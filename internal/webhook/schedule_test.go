package webhook_test

import (
	"testing"
	"time"

	"github.com/postledger/postledger/internal/webhook"
)

func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		try    int
		after  time.Duration
		random float64
		want   time.Duration
		more   bool
	}{
		{1, 0, 0.5, 5 * time.Second, true},
		{1, 0, 0, 4500 * time.Millisecond, true},
		{2, 0, 0.5, 295 * time.Second, true},
		{9, 0, 0.5, 4 * time.Hour, true},
		{10, 0, 0.5, 0, false},
		{0, 0, 0.5, 0, false},
		{1, time.Minute, 0.5, time.Minute, true},
		{1, time.Second, 0.5, 5 * time.Second, true},
		{1, 48 * time.Hour, 0.5, 24 * time.Hour, true},
	} {
		got, more := webhook.Next(c.try, c.after, c.random)
		if got != c.want || more != c.more {
			t.Errorf("after try %d (asked for %s): %s, %t; want %s, %t", c.try, c.after, got, more, c.want, c.more)
		}
	}
	var sum time.Duration
	for try := 1; ; try++ {
		wait, more := webhook.Next(try, 0, 0.5)
		if !more {
			break
		}
		sum += wait
	}
	if sum != 24*time.Hour {
		t.Errorf("tries end %s after the first, want 24h", sum)
	}
}
