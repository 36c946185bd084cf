package metrics

import (
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Accepted counts deliveries that were accepted on a profile.
func (m *Metrics) Accepted(profile string, n int) {
	m.accepted.WithLabelValues(profile).Add(float64(n))
}

// Leased counts what one lease brought, and times it.
func (m *Metrics) Leased(lane postledger.Lane, n int, took time.Duration) {
	m.leased.WithLabelValues(string(lane)).Add(float64(n))
	m.leaseSeconds.WithLabelValues(string(lane)).Observe(took.Seconds())
}

// Sent counts one transaction with a next hop, and times it.
func (m *Metrics) Sent(profile string, lane postledger.Lane, class postledger.OutcomeClass, took time.Duration) {
	m.sent.WithLabelValues(profile, string(lane), class.String()).Inc()
	m.sendSeconds.WithLabelValues(profile, string(lane)).Observe(took.Seconds())
}

// Settled counts settlements that changed something.
func (m *Metrics) Settled(profile string, ss []ledger.Settled) {
	now := time.Now()
	for i := range ss {
		s := &ss[i]
		switch {
		case !s.Applied:
		case s.Status == postledger.StatusQueued:
			m.requeued.WithLabelValues(profile, string(s.Reason)).Inc()
		default:
			m.settled.WithLabelValues(profile, string(s.Status), string(s.Reason)).Inc()
			if s.Status == postledger.StatusSent {
				m.latency.WithLabelValues(string(s.Lane)).Observe(max(0, now.Sub(s.CreatedAt).Seconds()))
			}
		}
	}
}

// Health notes the state of a profile's next hop.
func (m *Metrics) Health(profile, state string) {
	for _, s := range [...]string{"up", "down", "paused"} {
		v := 0.0
		if s == state {
			v = 1
		}
		m.profileUp.WithLabelValues(profile, s).Set(v)
	}
}

// Rate notes how fast this process may send on a profile.
func (m *Metrics) Rate(profile string, perMinute float64) {
	m.profileRate.WithLabelValues(profile).Set(perMinute)
}

// Waits counts a caller that waits until the returned function is called.
func (m *Metrics) Waits() func() {
	m.waiters.Inc()
	return m.waiters.Dec
}

// JournalTaken notes how many slots of the wire journal are in use.
func (m *Metrics) JournalTaken(n int) { m.journalTaken.Set(float64(n)) }
