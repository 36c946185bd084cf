// Package pace meters one profile: how many recipients may be leased now so
// that the next hop gets them at the profile's rate, and how the rate gives way
// when the hop asks for less.
//
// It is arithmetic only: the caller passes every moment, owns the value and
// guards it. The contract:
//
//   - Over any time T in which there was always work, T × rate recipients are
//     allowed, give or take one and what was leased ahead. Nothing is rounded
//     away: tokens are integers of 1/(64 × 60e9) of a recipient.
//   - Time in which nothing was taken (idle, paused, down, suspended) saves up
//     at most the burst. So at one moment never more than burst + rate × window
//     recipients are allowed, rounded up.
//   - Take may take more than was allowed, since an envelope leaves whole; the
//     debt is paid before anything more is allowed.
//   - A clock that steps back neither gives nor takes tokens, and accrual goes
//     on from there; one that steps forward gives at most the burst.
//
// Throttling. Throttled halves the rate, at most once in HalveEvery (the
// answers to what was leased at the old rate say nothing about the new one),
// not below 1/64 of the nominal rate nor below one a minute. Accepted gives
// back 1/16 of the nominal rate when RecoverEvery has passed since the last
// change; time alone gives back nothing. A profile without a rate that is
// throttled takes the rate it was measured to send at (the last 10 to 20 s) as
// its nominal one, halved at once, and is free again one step after it has
// recovered to it.
package pace

import (
	"fmt"
	"math"
	"time"
)

const (
	// MaxPerMinute bounds a rate and a burst.
	MaxPerMinute = 1_000_000
	// Unlimited is what Allow says for a profile without a rate.
	Unlimited = math.MaxInt32
	// HalveEvery is the shortest time between two halvings.
	HalveEvery = 2 * time.Second
	// RecoverEvery is the shortest time from a change of the rate to a step up.
	RecoverEvery = 10 * time.Second

	// full is the share of the nominal rate in 64ths when nothing is throttled.
	full = 64
	step = full / 16
	// one is a recipient in tokens; a rate of r a minute at a share of s/64
	// then gives exactly r × s tokens a nanosecond. A million recipients are
	// 3.84e18 tokens: a burst and a debt both fit an int64, and their
	// difference too.
	one = int64(full) * int64(time.Minute)
	// blind is the nominal rate of a profile that was throttled before it had
	// sent anything.
	blind = 60
)

// Config is what a profile asks for.
type Config struct {
	// PerMinute is the rate in recipients; 0 means no limit.
	PerMinute int
	// Burst is the most that idle time may save up; 0 means what the rate
	// gives in two seconds, rounded up.
	Burst int
}

// Pace is the meter of one profile.
type Pace struct {
	config Config
	// nominal is the rate in force: the configured one, or a measured one
	// while a profile without a rate is throttled; 0 means no limit.
	nominal int64
	share   int64 // in 64ths of nominal
	tokens  int64
	last    time.Time // up to when tokens have accrued
	changed time.Time // when share changed last
	recent  meter
}

// New starts a meter with one recipient to spend.
func New(c Config, now time.Time) (*Pace, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	p := &Pace{config: c, nominal: int64(c.PerMinute), share: full, tokens: one, last: now, changed: now}
	p.recent.start = now
	return p, nil
}

func (c Config) check() error {
	switch {
	case c.PerMinute < 0 || c.PerMinute > MaxPerMinute:
		return fmt.Errorf("pace: per_minute %d (want 0 to %d)", c.PerMinute, MaxPerMinute)
	case c.Burst < 0 || c.Burst > MaxPerMinute:
		return fmt.Errorf("pace: burst %d (want 0 to %d)", c.Burst, MaxPerMinute)
	}
	return nil
}

// Configure changes rate and burst of a running meter. What was saved or owed
// stays, and so does the share that a throttled hop left.
func (p *Pace) Configure(now time.Time, c Config) error {
	if err := c.check(); err != nil {
		return err
	}
	if c == p.config {
		return nil
	}
	p.advance(now)
	p.config, p.nominal = c, int64(c.PerMinute)
	if p.nominal == 0 {
		p.share = full
	}
	p.share = max(p.share, p.least())
	p.tokens = min(p.tokens, p.ceiling())
	return nil
}

// Allow is how many recipients may be leased now, of those that the pace lets
// go within the window (at most a minute of it counts).
func (p *Pace) Allow(now time.Time, window time.Duration) int {
	p.advance(now)
	if p.nominal == 0 {
		return Unlimited
	}
	window = min(max(window, 0), time.Minute)
	return int(max(0, (p.tokens+p.perNano()*int64(window))/one))
}

// Wait is how long it takes until Allow, with this window, lets one go.
func (p *Pace) Wait(now time.Time, window time.Duration) time.Duration {
	p.advance(now)
	if p.nominal == 0 {
		return 0
	}
	window = min(max(window, 0), time.Minute)
	missing := one - p.tokens - p.perNano()*int64(window)
	if missing <= 0 {
		return 0
	}
	return time.Duration((missing + p.perNano() - 1) / p.perNano())
}

// Take spends n recipients.
func (p *Pace) Take(now time.Time, n int) {
	p.advance(now)
	if p.nominal == 0 || n <= 0 {
		return
	}
	p.tokens = max(p.tokens-one*int64(min(n, MaxPerMinute)), -one*MaxPerMinute)
}

// Owe takes what the rate gives in d, which another meter may have let go
// ahead of its time.
func (p *Pace) Owe(now time.Time, d time.Duration) {
	p.advance(now)
	p.tokens = max(p.tokens-p.perNano()*int64(min(max(d, 0), time.Minute)), -one*MaxPerMinute)
}

// Return gives back n that were taken and never offered to the hop.
func (p *Pace) Return(now time.Time, n int) {
	p.advance(now)
	if p.nominal == 0 || n <= 0 {
		return
	}
	p.tokens = min(p.tokens+one*int64(min(n, MaxPerMinute)), p.ceiling())
}

// Rate is the rate in force, in recipients a minute; 0 means no limit.
func (p *Pace) Rate() float64 {
	return float64(p.nominal) * float64(p.share) / full
}

// advance lets tokens accrue up to now.
func (p *Pace) advance(now time.Time) {
	elapsed := now.Sub(p.last)
	p.last = now
	if now.Before(p.changed) {
		p.changed = now // or a clock that stepped back would hold up recovery
	}
	if p.nominal == 0 || elapsed <= 0 {
		return
	}
	room := p.ceiling() - p.tokens
	if room <= 0 {
		return
	}
	if int64(elapsed) > room/p.perNano() {
		p.tokens = p.ceiling()
		return
	}
	p.tokens += p.perNano() * int64(elapsed)
}

// perNano is the rate in tokens a nanosecond.
func (p *Pace) perNano() int64 { return p.nominal * p.share }

// ceiling is the most that may be saved: the burst, which shrinks with the
// share, and the fraction of a recipient that rounding down leaves.
func (p *Pace) ceiling() int64 {
	burst := int64(p.config.Burst) * (one / full) * p.share
	if p.config.Burst == 0 {
		burst = (p.perNano()*int64(2*time.Second) + one - 1) / one * one
	}
	return max(one, burst) + one - 1
}

// least is the smallest share: 1/64, or what is one recipient a minute.
func (p *Pace) least() int64 {
	if p.nominal == 0 {
		return full
	}
	return min(full, (full+p.nominal-1)/p.nominal)
}
