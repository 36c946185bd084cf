package pace_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postledger/postledger/internal/deliver/pace"
)

var start = time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC)

func newPace(t interface{ Fatal(...any) }, c pace.Config) *pace.Pace {
	p, err := pace.New(c, start)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLongRunsAreExact(t *testing.T) {
	for name, c := range map[string]struct {
		perMinute int
		visit     time.Duration
		run       time.Duration
		want      int
	}{
		"1 a minute, 50 h":                 {1, time.Second, 50 * time.Hour, 3_000},
		"60 a minute, 50 min":              {60, 250 * time.Millisecond, 50 * time.Minute, 3_000},
		"60 a minute, 50 h":                {60, 333 * time.Millisecond, 50 * time.Hour, 180_000},
		"7 a minute, 50 h, odd visits":     {7, 1_234_567_891, 50 * time.Hour, 21_000},
		"100,000 a minute, 1 h":            {100_000, 17 * time.Millisecond, time.Hour, 6_000_000},
		"1,000,000 a minute, 1 h, at once": {1_000_000, time.Second, time.Hour, 60_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPace(t, pace.Config{PerMinute: c.perMinute})
			sent := 0
			for at := time.Duration(0); at < c.run; at += c.visit {
				n := p.Allow(start.Add(at), 0)
				p.Take(start.Add(at), n)
				sent += n
			}
			sent += p.Allow(start.Add(c.run), 0)
			if sent < c.want-1 || sent > c.want+1 {
				t.Errorf("sent %d, want %d ± 1", sent, c.want)
			}
		})
	}
}

// Whatever the visits, takes and clock steps: between two moments of the
// clock never more than the rate plus the bound is allowed, and a meter that is
// asked often enough is never behind.
func TestNeverMoreThanRateAndBurst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(1, 5000).Draw(t, "rate")
		burst := rapid.IntRange(0, 200).Draw(t, "burst")
		window := time.Duration(rapid.IntRange(0, 4000).Draw(t, "window ms")) * time.Millisecond
		p := newPace(t, pace.Config{PerMinute: rate, Burst: burst})
		bound := float64(burst)
		if burst == 0 {
			bound = math.Ceil(float64(rate) / 30)
		}
		bound = math.Max(bound, 1) + 1 + float64(rate)*window.Minutes()

		now, real, taken := start, time.Duration(0), 0.0
		for range rapid.IntRange(1, 60).Draw(t, "visits") {
			pass := time.Duration(rapid.Int64Range(0, int64(90*time.Second)).Draw(t, "pass"))
			now, real = now.Add(pass), real+pass
			if rapid.IntRange(0, 9).Draw(t, "clock") == 0 {
				// Back: the clock repeats time it gave already.
				now = now.Add(-time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "back")))
			}
			n := p.Allow(now, window)
			if float64(n) > bound {
				t.Fatalf("%d allowed at once, bound %.2f", n, bound)
			}
			n = rapid.IntRange(0, n).Draw(t, "take")
			p.Take(now, n)
			taken += float64(n)
			if most := float64(rate)*real.Minutes() + bound; taken > most+1e-6 {
				t.Fatalf("%v taken in %v, at most %.2f", taken, real, most)
			}
		}
	})
}

func TestIdleTimeGivesNoMoreThanTheBurst(t *testing.T) {
	for name, c := range map[string]struct {
		config pace.Config
		want   int
	}{
		"default burst is two seconds": {pace.Config{PerMinute: 600}, 20},
		"default burst of a slow one":  {pace.Config{PerMinute: 2}, 1},
		"configured burst":             {pace.Config{PerMinute: 600, Burst: 5}, 5},
	} {
		for clock, later := range map[string]time.Time{
			"a day idle": start.Add(24 * time.Hour), "a century forward": start.AddDate(100, 0, 0),
		} {
			p := newPace(t, c.config)
			if got := p.Allow(later, 0); got != c.want {
				t.Errorf("%s, %s: %d allowed, want %d", name, clock, got, c.want)
			}
		}
	}
}

func TestAClockThatStepsBackDoesNotStall(t *testing.T) {
	p := newPace(t, pace.Config{PerMinute: 60})
	p.Take(start, 1)
	back := start.Add(-3 * time.Hour)
	if got := p.Allow(back, 0); got != 0 {
		t.Errorf("%d allowed by a step back", got)
	}
	if got := p.Allow(back.Add(time.Second), 0); got != 1 {
		t.Errorf("%d allowed a second after the step, want 1", got)
	}
}

func TestAWholeEnvelopeIsPaidBack(t *testing.T) {
	p := newPace(t, pace.Config{PerMinute: 60})
	const window = 2 * time.Second
	if got := p.Allow(start, window); got != 3 { // the first one and two seconds' worth
		t.Fatalf("%d allowed, want 3", got)
	}
	p.Take(start, 50)
	wait := p.Wait(start, window)
	if want := 48 * time.Second; wait != want { // 1-50+1 owed, two seconds of it lent
		t.Errorf("wait %v, want %v", wait, want)
	}
	if got := p.Allow(start.Add(wait-1), window); got != 0 {
		t.Errorf("%d allowed before the wait is over", got)
	}
	if got := p.Allow(start.Add(wait), window); got != 1 {
		t.Errorf("%d allowed after the wait, want 1", got)
	}
	p.Return(start.Add(wait), 50)
	if got := p.Allow(start.Add(wait), 0); got != 2 { // capped at the burst
		t.Errorf("%d allowed after all came back, want 2", got)
	}
}

// Whoever starts again and again, each time owing what is allowed ahead, lets
// go no more than one a start beyond the rate, and no later for it.
func TestStartsGiveNothingAhead(t *testing.T) {
	const window = 2 * time.Second
	for name, c := range map[string]struct {
		perMinute, starts int
		life              time.Duration
	}{
		"1 a minute, once":            {1, 1, time.Hour},
		"100 a minute, once":          {100, 1, 5 * time.Minute},
		"100 a minute, every minute":  {100, 5, time.Minute},
		"3,000 a minute, every 100ms": {3000, 50, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			now, sent := start, 0
			for range c.starts {
				p, err := pace.New(pace.Config{PerMinute: c.perMinute}, now)
				if err != nil {
					t.Fatal(err)
				}
				p.Owe(now, window)
				if got := p.Allow(now, window); got != 1 {
					t.Fatalf("%d allowed at a start, want 1", got)
				}
				for end := now.Add(c.life); now.Before(end); now = now.Add(10 * time.Millisecond) {
					n := p.Allow(now, window)
					p.Take(now, n)
					sent += n
				}
			}
			rate := int(time.Duration(c.perMinute) * now.Sub(start) / time.Minute)
			if sent > rate+c.starts || sent < rate-c.starts {
				t.Errorf("%d sent in %v and %d starts, the rate gives %d", sent, now.Sub(start), c.starts, rate)
			}
		})
	}
}

func TestNoRateIsNoLimit(t *testing.T) {
	p := newPace(t, pace.Config{})
	p.Take(start, 1_000_000)
	p.Owe(start, time.Hour)
	if p.Allow(start, 0) != pace.Unlimited || p.Wait(start, 0) != 0 || p.Rate() != 0 {
		t.Errorf("allow %d, wait %v, rate %v", p.Allow(start, 0), p.Wait(start, 0), p.Rate())
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	for field, c := range map[string]pace.Config{
		"per_minute -1": {PerMinute: -1}, "per_minute 1000001": {PerMinute: pace.MaxPerMinute + 1},
		"burst -1": {Burst: -1}, "burst 1000001": {Burst: pace.MaxPerMinute + 1},
	} {
		if _, err := pace.New(c, start); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("New %+v: %v, want %q", c, err, field)
		}
		p := newPace(t, pace.Config{PerMinute: 60})
		if err := p.Configure(start, c); err == nil || p.Rate() != 60 {
			t.Errorf("Configure %+v: %v, rate %v", c, err, p.Rate())
		}
	}
}

func TestConfigureKeepsDebtAndShare(t *testing.T) {
	p := newPace(t, pace.Config{PerMinute: 600})
	p.Throttled(start)
	p.Take(start, 10)
	if err := p.Configure(start, pace.Config{PerMinute: 1200}); err != nil {
		t.Fatal(err)
	}
	if p.Rate() != 600 {
		t.Errorf("rate %v, want half of the new one", p.Rate())
	}
	if got := p.Wait(start, 0); got != 1100*time.Millisecond { // 10 owed, one to go, 10 a second
		t.Errorf("wait %v", got)
	}
	if err := p.Configure(start, pace.Config{}); err != nil {
		t.Fatal(err)
	}
	if p.Allow(start, 0) != pace.Unlimited {
		t.Error("still limited after the limit was taken away")
	}
}
