package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/postledger/postledger"
)

// sums are the rows of one snapshot, grouped as the counters are.
type sums struct {
	stats    map[statKey]int64
	messages map[countKey]int64
	// minutes are the deliveries charged in each minute of the quota's window.
	minutes map[minuteKey]int64
}

type minuteKey struct {
	quotaKey
	minute int64
}

// countBooks compares the counters of accept, settle, retention and quota with
// the rows.
func countBooks(ctx context.Context, t *tx, r *Report) error {
	from, err := t.quotaFrom(ctx)
	if err != nil {
		return err
	}
	rows := sums{map[statKey]int64{}, map[countKey]int64{}, map[minuteKey]int64{}}
	if err := t.sumDeliveries(ctx, &rows, from*microsPerMinute); err != nil {
		return fmt.Errorf("sum deliveries: %w", err)
	}
	if err := t.sumMessages(ctx, &rows); err != nil {
		return fmt.Errorf("sum messages: %w", err)
	}
	removed, err := t.compareSettled(ctx, r, &rows)
	if err != nil {
		return fmt.Errorf("sum settled: %w", err)
	}
	if err := t.compareAccepted(ctx, r, &rows, removed); err != nil {
		return fmt.Errorf("sum accepted: %w", err)
	}
	if err := t.compareQuota(ctx, r, &rows, from); err != nil {
		return fmt.Errorf("sum quota: %w", err)
	}
	return nil
}

// quotaFrom is the first minute whose accepted rows are all still there: of
// the window, and after the last purge's edge.
func (t *tx) quotaFrom(ctx context.Context) (int64, error) {
	now, err := t.nowMicros(ctx)
	if err != nil {
		return 0, err
	}
	purged, err := readRecordsBefore(ctx, t)
	return max(now/microsPerMinute-quotaWindow, purged/microsPerMinute) + 1, err
}

func (t *tx) sumDeliveries(ctx context.Context, s *sums, windowFrom int64) error {
	return t.idSlices(ctx, "deliveries", func(lo, hi []byte) error {
		if err := t.each(ctx, func(rows *sql.Rows) error {
			var k statKey
			var n int64
			err := rows.Scan(&k.app, &k.profile, &k.lane, &k.status, &k.reason, &n)
			if !k.status.Settled() {
				k.reason = "" // of the last attempt: nothing counts it
			}
			s.stats[k] += n
			return err
		}, `SELECT app_id, profile_id, lane, status, reason, count(*) FROM deliveries WHERE id > ? AND id <= ?
			GROUP BY app_id, profile_id, lane, status, reason`, lo, hi); err != nil {
			return err
		}
		// Given back were those that were canceled while they waited.
		return t.each(ctx, func(rows *sql.Rows) error {
			var k minuteKey
			var n int64
			err := rows.Scan(&k.app, &k.profile, &k.minute, &n)
			s.minutes[k] += n
			return err
		}, `SELECT app_id, profile_id, created_at / 60000000, count(*) FROM deliveries d WHERE id > ? AND id <= ? AND created_at >= ?
				AND NOT (status = 'canceled' AND EXISTS (SELECT 1 FROM delivery_events e
					WHERE e.delivery_id = d.id AND e.from_status = 'queued' AND e.to_status = 'canceled'))
			GROUP BY app_id, profile_id, created_at / 60000000`, lo, hi, windowFrom)
	})
}

func (t *tx) sumMessages(ctx context.Context, s *sums) error {
	return t.idSlices(ctx, "messages", func(lo, hi []byte) error {
		return t.each(ctx, func(rows *sql.Rows) error {
			var k countKey
			var n int64
			err := rows.Scan(&k.app, &k.profile, &k.lane, &n)
			s.messages[k] += n
			return err
		}, `SELECT app_id, profile_id, lane, count(*) FROM messages WHERE id > ? AND id <= ?
			GROUP BY app_id, profile_id, lane`, lo, hi)
	})
}

// hourSlice is how many hours of counters one statement sums.
const hourSlice = 24 * 31

// hourSlices walks a counter table by hour.
func (t *tx) hourSlices(ctx context.Context, table string, fn func(from, to int64) error) error {
	var first, last sql.NullInt64
	if err := t.row(ctx, []any{&first, &last}, `SELECT min(hour), max(hour) FROM `+table); err != nil {
		return err
	}
	for h := first.Int64; first.Valid && h <= last.Int64; h += hourSlice {
		if err := fn(h, h+hourSlice); err != nil {
			return err
		}
	}
	return nil
}

// compareSettled returns what was removed of each (app, profile, lane).
func (t *tx) compareSettled(ctx context.Context, r *Report, s *sums) (map[countKey]int64, error) {
	counted := map[statKey]int64{}
	removed := map[countKey]int64{}
	err := t.hourSlices(ctx, "stats_hours", func(from, to int64) error {
		return t.each(ctx, func(rows *sql.Rows) error {
			var k statKey
			var n, gone int64
			err := rows.Scan(&k.app, &k.profile, &k.lane, &k.status, &k.reason, &n, &gone)
			counted[k] += n - gone
			removed[countKey{k.app, k.profile, k.lane}] += gone
			r.Totals.Removed += gone
			return err
		}, `SELECT app_id, profile_id, lane, status, reason, CAST(sum(n) AS bigint), CAST(sum(removed) AS bigint)
			FROM stats_hours WHERE hour >= ? AND hour < ? GROUP BY app_id, profile_id, lane, status, reason`, from, to)
	})
	if err != nil {
		return nil, err
	}
	for k, n := range s.stats {
		switch {
		case k.reason == postledger.ReasonSandbox:
			r.Totals.Sandbox += n
		default:
			r.Totals.States[k.status] += n
		}
		if k.status.Settled() && counted[k] != n {
			r.differ(DiffSettled, k.String())
		}
	}
	for k, n := range counted {
		if _, has := s.stats[k]; !has && n != 0 {
			r.differ(DiffSettled, k.String())
		}
	}
	return removed, nil
}

// String names a sum in a report.
func (k statKey) String() string {
	return fmt.Sprintf("%s/%s/%s/%s/%s", k.app, k.profile, k.lane, k.status, k.reason)
}

// String names a sum in a report.
func (k countKey) String() string { return fmt.Sprintf("%s/%s/%s", k.app, k.profile, k.lane) }

func (t *tx) compareAccepted(ctx context.Context, r *Report, s *sums, removed map[countKey]int64) error {
	deliveries, messages := map[countKey]int64{}, map[countKey]int64{}
	for k, n := range s.stats {
		deliveries[countKey{k.app, k.profile, k.lane}] += n
	}
	for k, n := range removed {
		deliveries[k] += n
	}
	err := t.hourSlices(ctx, "accept_counts", func(from, to int64) error {
		return t.each(ctx, func(rows *sql.Rows) error {
			var k countKey
			var m, d int64
			err := rows.Scan(&k.app, &k.profile, &k.lane, &m, &d)
			messages[k] += m
			deliveries[k] -= d
			r.Totals.Accepted += d
			return err
		}, `SELECT app_id, profile_id, lane, CAST(sum(messages - messages_removed) AS bigint), CAST(sum(deliveries) AS bigint)
			FROM accept_counts WHERE hour >= ? AND hour < ? GROUP BY app_id, profile_id, lane`, from, to)
	})
	if err != nil {
		return err
	}
	for k, n := range deliveries {
		if n != 0 {
			r.differ(DiffAccepted, k.String())
		}
	}
	for k, n := range s.messages {
		messages[k] -= n
	}
	for k, n := range messages {
		if n != 0 {
			r.differ(DiffAcceptedMessages, k.String())
		}
	}
	return nil
}

// compareQuota: an app and profile have at most some 1,440 minutes, so both
// tables are as small as the pairs that sent in the last day.
func (t *tx) compareQuota(ctx context.Context, r *Report, s *sums, from int64) error {
	used, swept := map[quotaKey]int64{}, map[quotaKey]int64{}
	if err := t.each(ctx, func(rows *sql.Rows) error {
		var k quotaKey
		var n, at int64
		err := rows.Scan(&k.app, &k.profile, &n, &at)
		used[k], swept[k] = n, at
		return err
	}, `SELECT app_id, profile_id, used, swept FROM quotas`); err != nil {
		return err
	}
	wrong := map[minuteKey]bool{}
	if err := t.each(ctx, func(rows *sql.Rows) error {
		var k minuteKey
		var n int64
		err := rows.Scan(&k.app, &k.profile, &k.minute, &n)
		used[k.quotaKey] -= n
		if k.minute >= from && s.minutes[k] != n {
			wrong[k] = true
		}
		delete(s.minutes, k)
		return err
	}, `SELECT app_id, profile_id, minute, n FROM quota_minutes`); err != nil {
		return err
	}
	for k, n := range s.minutes {
		// Minutes that a sweep took are out of the window by its clock.
		if n != 0 && k.minute >= from && k.minute > swept[k.quotaKey]-quotaWindow {
			wrong[k] = true
		}
	}
	for k := range wrong {
		r.differ(DiffQuota, fmt.Sprintf("%s/%s/%s", k.app, k.profile, fromMicros(k.minute*microsPerMinute).Format("2006-01-02T15:04Z")))
	}
	for k, n := range used {
		if n != 0 {
			r.differ(DiffQuota, fmt.Sprintf("%s/%s", k.app, k.profile))
		}
	}
	return nil
}
