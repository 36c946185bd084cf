package settle_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postledger/postledger/internal/settle"
)

// draws is a random number that is no surprise.
func draws(n float64) func() float64 { return func() float64 { return n } }

func TestBackoff(t *testing.T) {
	for n, want := range map[int]time.Duration{
		math.MinInt: time.Minute, 0: time.Minute,
		1: time.Minute, 2: 2 * time.Minute, 3: 4 * time.Minute, 4: 8 * time.Minute,
		5: 16 * time.Minute, 6: 32 * time.Minute, 7: time.Hour, 8: time.Hour,
		64: time.Hour, math.MaxInt: time.Hour,
	} {
		for random, share := range map[float64]time.Duration{0: 8, 0.25: 9, 0.5: 10, 1: 12} {
			if got := settle.Backoff(n, draws(random)); got != want*share/10 {
				t.Errorf("attempt %d, random %v: %v, want %v", n, random, got, want*share/10)
			}
		}
	}
}

func TestBackoffStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int().Draw(t, "n")
		random := draws(rapid.Float64Range(0, 1).Draw(t, "random"))
		got := settle.Backoff(n, random)
		if got < 48*time.Second || got > 72*time.Minute {
			t.Fatalf("wait %v", got)
		}
		if n < math.MaxInt && settle.Backoff(n+1, random) < got {
			t.Fatalf("attempt %d waits longer than the next one", n)
		}
	})
}

func TestTheTwentiethReturnInARowCharges(t *testing.T) {
	for before, want := range map[int]bool{0: false, 1: false, 18: false, 19: true, 20: true} {
		if got := settle.ChargesAfter(before); got != want {
			t.Errorf("after %d returns: charges %v, want %v", before, got, want)
		}
	}
}

func TestTheHorizon(t *testing.T) {
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		horizon time.Duration
		first   time.Time
		n       int
		again   bool
		wait    time.Duration
	}{
		"the first failure":                     {0, time.Time{}, 1, true, time.Minute},
		"a first failure recorded at this time": {0, now, 1, true, time.Minute},
		"just within a day":                     {0, now.Add(-24*time.Hour + 1), 9, true, time.Hour},
		"a day":                                 {0, now.Add(-24 * time.Hour), 30, false, 0},
		"paused for a week between two":         {0, now.Add(-7 * 24 * time.Hour), 2, false, 0},
		"a short horizon":                       {10 * time.Minute, now.Add(-10 * time.Minute), 4, false, 0},
		"a long horizon":                        {5 * 24 * time.Hour, now.Add(-4 * 24 * time.Hour), 100, true, time.Hour},
		"a negative one is the default":         {-1, now.Add(-time.Hour), 2, true, 2 * time.Minute},
		"the clock stepped back":                {0, now.Add(48 * time.Hour), 2, true, 2 * time.Minute},
	} {
		wait, again := settle.Retry{Horizon: c.horizon}.After(c.n, c.first, now, draws(0.5))
		if wait != c.wait || again != c.again {
			t.Errorf("%s: %v, %v; want %v, %v", name, wait, again, c.wait, c.again)
		}
	}
}

// A delivery that always fails is tried some thirty times in a day, and ends.
func TestADeliveryThatAlwaysFailsEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		random := func() float64 { return rapid.Float64Range(0, 1).Draw(t, "random") }
		first, now, n := time.Time{}, start, 1
		for {
			wait, again := settle.Retry{}.After(n, first, now, random)
			if !again {
				break
			}
			first, now, n = start, now.Add(wait), n+1
		}
		if took := now.Sub(start); took < settle.DefaultHorizon || took > settle.DefaultHorizon+72*time.Minute {
			t.Fatalf("ended after %v", took)
		}
		if n < 25 || n > 37 {
			t.Fatalf("%d attempts", n)
		}
	})
}
