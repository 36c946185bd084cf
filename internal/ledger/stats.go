package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// StatsFilter chooses hours: since <= hour < until, at most maxStatsSpan.
type StatsFilter struct {
	App, Profile postledger.ID
	Lane         postledger.Lane
	Since, Until time.Time
}

// HourStats is what happened in one hour.
type HourStats struct {
	Hour time.Time
	// Messages and Deliveries were accepted in it.
	Messages, Deliveries int64
	// Settled counts deliveries that came to a settled state in it, less those
	// that left it: a resolved delivery is one less unconfirmed.
	Settled []SettledCount
}

// SettledCount is a number of deliveries in a state for a reason.
type SettledCount struct {
	Status postledger.Status
	Reason postledger.Reason
	N      int64
}

// maxStatsSpan bounds what one call reads.
const maxStatsSpan = 93 * 24 * time.Hour

// StatsHours reads the counters by hour, oldest first; hours in which nothing
// happened are left out. They are kept when the deliveries are purged.
func (l *Ledger) StatsHours(ctx context.Context, f StatsFilter) ([]HourStats, error) {
	out, err := l.statsHours(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("read stats: %w", err)
	}
	return out, nil
}

func (l *Ledger) statsHours(ctx context.Context, f StatsFilter) ([]HourStats, error) {
	switch {
	case f.Since.IsZero() || f.Until.IsZero():
		return nil, tooBroad("stats need since and until")
	case !f.Since.Before(f.Until):
		return nil, &FilterError{"since", "must be before until"}
	case f.Until.Sub(f.Since) > maxStatsSpan:
		return nil, tooBroad("stats cover at most 93 days")
	case f.Lane != "" && !f.Lane.Valid():
		return nil, &FilterError{"lane", "must be immediate or bulk"}
	}
	var c cond
	c.and("hour >= ? AND hour < ?", floorHour(f.Since), floorHour(f.Until.Add(time.Hour-time.Microsecond)))
	if !f.App.IsZero() {
		c.and("app_id = ?", f.App)
	}
	if !f.Profile.IsZero() {
		c.and("profile_id = ?", f.Profile)
	}
	if f.Lane != "" {
		c.and("lane = ?", string(f.Lane))
	}
	var out []HourStats
	err := l.listing(ctx, func(ctx context.Context, t *tx) error {
		at := map[int64]int{}
		err := t.each(ctx, func(rows *sql.Rows) error {
			var h HourStats
			var hour int64
			err := rows.Scan(&hour, &h.Messages, &h.Deliveries)
			h.Hour = fromMicros(hour * microsPerHour)
			at[hour] = len(out)
			out = append(out, h)
			return err
		}, `SELECT hour, CAST(sum(m) AS bigint), CAST(sum(d) AS bigint) FROM (
				SELECT hour, messages AS m, deliveries AS d FROM accept_counts WHERE `+c.sql+`
				UNION ALL SELECT hour, 0, 0 FROM stats_hours WHERE `+c.sql+`) h
			GROUP BY hour ORDER BY hour`, append(append([]any(nil), c.args...), c.args...)...)
		if err != nil {
			return err
		}
		return t.each(ctx, func(rows *sql.Rows) error {
			var hour int64
			var s SettledCount
			err := rows.Scan(&hour, &s.Status, &s.Reason, &s.N)
			h := &out[at[hour]]
			h.Settled = append(h.Settled, s)
			return err
		}, `SELECT hour, status, reason, CAST(sum(n) AS bigint) FROM stats_hours WHERE `+c.sql+`
			GROUP BY hour, status, reason ORDER BY hour, status, reason`, c.args...)
	})
	return out, err
}

func floorHour(t time.Time) int64 { return t.UnixMicro() / microsPerHour }
