package metrics

import (
	"time"

	"github.com/postledger/postledger/internal/ledger"
)

// WebhookTried implements webhook.Observer.
func (m *Metrics) WebhookTried(verdict string, took time.Duration) {
	m.webhookTries.WithLabelValues(verdict).Inc()
	m.webhookSeconds.Observe(took.Seconds())
}

// WebhookEnded implements webhook.Observer.
func (m *Metrics) WebhookEnded(how string) { m.webhookEvents.WithLabelValues(how).Inc() }

// WebhookDisabled implements webhook.Observer.
func (m *Metrics) WebhookDisabled() { m.webhookDisabled.Inc() }

func (m *Metrics) countWebhooks(n ledger.WebhookCounts) {
	m.webhooks.WithLabelValues("working").Set(float64(n.Working))
	m.webhooks.WithLabelValues("failing").Set(float64(n.Failing))
	m.webhooks.WithLabelValues("disabled").Set(float64(n.Disabled))
}
