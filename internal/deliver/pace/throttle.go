package pace

import "time"

// Throttled says that the hop asked for fewer or slower messages. It reports
// whether the rate has changed.
func (p *Pace) Throttled(now time.Time) bool {
	p.advance(now)
	if p.share < full && now.Sub(p.changed) < HalveEvery {
		return false
	}
	if p.nominal == 0 {
		p.nominal = p.recent.perMinute(now)
		p.tokens = 0
	}
	// What idle time has saved up is not for a hop that is short of breath.
	p.tokens = min(p.tokens, 0)
	share := max(p.share/2, p.least())
	if share == p.share {
		p.changed = now // a throttle at the bottom still holds up recovery
		return false
	}
	p.share, p.changed = share, now
	return true
}

// Accepted says that the hop took n recipients. It reports whether the rate
// has changed.
func (p *Pace) Accepted(now time.Time, n int) bool {
	p.advance(now)
	p.recent.add(now, n)
	measured := p.config.PerMinute == 0 && p.nominal > 0
	switch {
	case now.Sub(p.changed) < RecoverEvery:
		return false
	case p.share < full:
		p.share = min(p.share+step, full)
	case measured:
		p.nominal, p.tokens = 0, one
	default:
		return false
	}
	p.changed = now
	return true
}

// meter measures the recent rate over the running stretch of RecoverEvery and
// the one before it.
type meter struct {
	start        time.Time
	count, prior int64
	hasPrior     bool
}

func (m *meter) add(now time.Time, n int) {
	m.turn(now)
	m.count += int64(max(n, 0))
}

// turn begins a new stretch when the running one is over.
func (m *meter) turn(now time.Time) {
	elapsed := now.Sub(m.start)
	switch {
	case elapsed < 0 || elapsed >= 2*RecoverEvery:
		*m = meter{start: now}
	case elapsed >= RecoverEvery:
		*m = meter{start: m.start.Add(RecoverEvery), prior: m.count, hasPrior: true}
	}
}

// perMinute is the measured rate, at least one a minute.
func (m *meter) perMinute(now time.Time) int64 {
	m.turn(now)
	span := now.Sub(m.start)
	if m.hasPrior {
		span += RecoverEvery
	}
	count := m.count + m.prior
	if count == 0 {
		return blind
	}
	rate := float64(count) * float64(time.Minute) / float64(max(span, time.Second))
	return int64(min(max(rate, 1), MaxPerMinute))
}
