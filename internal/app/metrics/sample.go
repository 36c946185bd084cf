package metrics

import (
	"context"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Ledger is what the gauges are read from. Each read is bounded, whatever
// waits.
type Ledger interface {
	Backlogs(ctx context.Context) (map[postledger.ID]ledger.Backlog, error)
	Unconfirmed(ctx context.Context, after postledger.ID, limit int) ([]postledger.ID, error)
	Workers(ctx context.Context) ([]ledger.Worker, error)
	Profiles(ctx context.Context) ([]postledger.Profile, error)
	CountWebhooks(ctx context.Context) (ledger.WebhookCounts, error)
}

// countLimit is how far deliveries are counted.
const countLimit = 10_000

// Sample reads the gauges from the ledger. After a failure they keep their
// values, and the failure is counted.
func (m *Metrics) Sample(ctx context.Context, l Ledger) error {
	if err := m.sample(ctx, l); err != nil {
		m.sampleFails.Inc()
		return err
	}
	m.sampledAt.SetToCurrentTime()
	return nil
}

func (m *Metrics) sample(ctx context.Context, l Ledger) error {
	profiles, err := l.Profiles(ctx)
	if err != nil {
		return err
	}
	backlogs, err := l.Backlogs(ctx)
	if err != nil {
		return err
	}
	late := map[postledger.Lane]time.Duration{postledger.LaneImmediate: 0, postledger.LaneBulk: 0}
	for _, b := range backlogs {
		for lane, d := range b.LateBy {
			late[lane] = max(late[lane], d)
		}
	}
	doubtful, err := l.Unconfirmed(ctx, postledger.ID{}, countLimit)
	if err != nil {
		return err
	}
	living, err := l.Workers(ctx)
	if err != nil {
		return err
	}
	hooks, err := l.CountWebhooks(ctx)
	if err != nil {
		return err
	}
	m.countWebhooks(hooks)
	for lane, d := range late {
		m.oldestDue.WithLabelValues(string(lane)).Set(d.Seconds())
	}
	// Profiles come and go: those that are gone must not keep their values.
	m.waiting.Reset()
	for i := range profiles {
		if profiles[i].RemovedAt.IsZero() || backlogs[profiles[i].ID].Waiting > 0 {
			m.waiting.WithLabelValues(profiles[i].Name).Add(float64(backlogs[profiles[i].ID].Waiting))
		}
	}
	m.unconfirmed.Set(float64(len(doubtful)))
	m.workers.Set(float64(len(living)))
	return nil
}

// LogBytes notes how large the embedded ledger's write-ahead log is.
func (m *Metrics) LogBytes(n int64) { m.logBytes.Set(float64(n)) }

// RetentionLag notes how far retention is behind.
func (m *Metrics) RetentionLag(d time.Duration) { m.retention.Set(d.Seconds()) }
