package metrics

import (
	"time"

	"github.com/postledger/postledger/internal/audience"
)

// Counted implements audience.Observer.
func (m *Metrics) Counted(outcome audience.Outcome, rows int64, took time.Duration) {
	m.counts.WithLabelValues(string(outcome)).Inc()
	m.countRows.Add(float64(rows))
	if outcome != audience.OutcomeBusy {
		m.countSeconds.Observe(took.Seconds())
	}
}
