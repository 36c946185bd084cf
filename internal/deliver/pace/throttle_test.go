package pace_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postledger/postledger/internal/deliver/pace"
)

// Case B30: a hop that takes five a second and says 454 slows the profile down.
func TestThrottledHalvesOnceForAllAnswersOfAMoment(t *testing.T) {
	p := newPace(t, pace.Config{PerMinute: 640})
	want := []float64{320, 160, 80, 40, 20, 10, 10, 10}
	for i, rate := range want {
		at := start.Add(time.Duration(i) * pace.HalveEvery)
		for range 32 { // every connection hears it
			p.Throttled(at)
		}
		if p.Rate() != rate {
			t.Fatalf("after %d: %v a minute, want %v", i+1, p.Rate(), rate)
		}
	}
}

func TestThrottledNeverBelowOneAMinute(t *testing.T) {
	for _, perMinute := range []int{1, 2, 3, 5, 63, 64, 65, 1000} {
		p := newPace(t, pace.Config{PerMinute: perMinute})
		for i := range 20 {
			p.Throttled(start.Add(time.Duration(i) * pace.HalveEvery))
		}
		low, high := max(1, float64(perMinute)/64), max(2, float64(perMinute)/32)
		if p.Rate() < low || p.Rate() > high {
			t.Errorf("%d a minute: throttled to %v, want %v to %v", perMinute, p.Rate(), low, high)
		}
	}
}

func TestThrottledDropsWhatWasSaved(t *testing.T) {
	p := newPace(t, pace.Config{PerMinute: 600, Burst: 100})
	at := start.Add(time.Hour)
	if got := p.Allow(at, 0); got != 100 {
		t.Fatalf("saved %d, want 100", got)
	}
	p.Throttled(at)
	if got := p.Allow(at, 0); got != 0 {
		t.Errorf("%d allowed right after a throttle", got)
	}
	if got := p.Allow(at.Add(time.Hour), 0); got != 50 {
		t.Errorf("%d saved at half the rate, want half the burst", got)
	}
}

func TestRecoveryTakesAcceptedMailAndTime(t *testing.T) {
	p := newPace(t, pace.Config{PerMinute: 1600})
	p.Throttled(start)
	if p.Accepted(start.Add(pace.RecoverEvery-1), 1) || p.Rate() != 800 {
		t.Errorf("recovered too early: %v", p.Rate())
	}
	for i := 1; i <= 8; i++ {
		at := start.Add(time.Duration(i) * pace.RecoverEvery)
		for range 100 {
			p.Accepted(at, 10)
		}
		if want := 800 + 100*float64(i); p.Rate() != want {
			t.Fatalf("after %d steps: %v, want %v", i, p.Rate(), want)
		}
	}
	if p.Accepted(start.Add(time.Hour), 1) || p.Rate() != 1600 {
		t.Errorf("went beyond its rate: %v", p.Rate())
	}

	p.Throttled(start.Add(2 * time.Hour))
	if p.Allow(start.Add(9*time.Hour), 0); p.Rate() != 800 {
		t.Errorf("time alone recovered it to %v", p.Rate())
	}
	if p.Accepted(start.Add(9*time.Hour), 1); p.Rate() != 900 {
		t.Errorf("hours and one acceptance: %v, want one step", p.Rate())
	}
	// A clock that steps back must not hold recovery up until it is there again.
	p.Allow(start, 0)
	if p.Accepted(start.Add(pace.RecoverEvery), 1); p.Rate() != 1000 {
		t.Errorf("after a step back: %v, want 1000", p.Rate())
	}
}

func TestAThrottleAtTheBottomHoldsUpRecovery(t *testing.T) {
	p := newPace(t, pace.Config{PerMinute: 64})
	for i := range 8 {
		p.Throttled(start.Add(time.Duration(i) * pace.HalveEvery))
	}
	last := start.Add(7 * pace.HalveEvery)
	if p.Accepted(last.Add(pace.RecoverEvery-1), 1) {
		t.Error("recovered less than RecoverEvery after a throttle")
	}
	if !p.Accepted(last.Add(pace.RecoverEvery), 1) {
		t.Error("did not recover")
	}
}

func TestAnUnlimitedProfileFallsToWhatItSent(t *testing.T) {
	p := newPace(t, pace.Config{})
	at := start
	for range 300 { // thirty seconds at 50 a second
		at = at.Add(100 * time.Millisecond)
		p.Accepted(at, 5)
	}
	p.Throttled(at)
	if p.Rate() < 1450 || p.Rate() > 1550 {
		t.Fatalf("throttled to %v, want half of 3000", p.Rate())
	}
	if got := p.Allow(at, 0); got != 0 {
		t.Errorf("%d allowed right after the throttle", got)
	}
	for i := range 8 {
		if p.Accepted(at.Add(time.Duration(i+1)*pace.RecoverEvery), 1); p.Rate() == 0 {
			t.Fatalf("free after %d steps", i+1)
		}
	}
	if p.Accepted(at.Add(9*pace.RecoverEvery), 1); p.Rate() != 0 {
		t.Errorf("still limited to %v", p.Rate())
	}
}

func TestAnUnlimitedProfileThatSentNothing(t *testing.T) {
	p := newPace(t, pace.Config{})
	p.Accepted(start, 500)
	at := start.Add(time.Minute) // long forgotten
	if p.Throttled(at); p.Rate() != 30 {
		t.Errorf("throttled to %v, want 30", p.Rate())
	}
}

// Any mix of throttles and acceptances keeps the rate within its bounds, and
// the clock never makes it stand still for good.
func TestShareStaysWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(0, 10_000).Draw(t, "rate")
		p := newPace(t, pace.Config{PerMinute: rate})
		now := start
		for range rapid.IntRange(1, 100).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.Int64Range(-int64(time.Minute), int64(time.Minute)).Draw(t, "pass")))
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				p.Throttled(now)
			case 1:
				p.Accepted(now, rapid.IntRange(0, 1000).Draw(t, "n"))
			case 2:
				p.Take(now, rapid.IntRange(0, 1000).Draw(t, "n"))
			default:
				p.Allow(now, 2*time.Second)
			}
			if rate > 0 && (p.Rate() > float64(rate) || p.Rate() < max(1, float64(rate)/64)-1e-9) {
				t.Fatalf("rate %v of %d", p.Rate(), rate)
			}
		}
		for range 20 {
			now = now.Add(pace.RecoverEvery)
			p.Accepted(now, 1)
		}
		if p.Rate() != float64(rate) {
			t.Fatalf("rate %v after 20 quiet steps, want %d", p.Rate(), rate)
		}
	})
}
