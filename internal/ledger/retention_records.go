package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/postledger/postledger"
)

// PurgeRecords removes messages that were settled before the given time, with
// their deliveries, histories and contents: up to limit (at most 1,000)
// deliveries a call. What it removes it counts, in the same transaction, so
// that the books still balance. Idempotency keys stay (PurgeKeys).
func (l *Ledger) PurgeRecords(ctx context.Context, before time.Time, after postledger.ID, limit int) (Purged, error) {
	var out Purged
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		out = Purged{}
		now, err := purgeClock(ctx, t, before)
		if err != nil {
			return err
		}
		found, err := t.purgeable(ctx, `SELECT m.id, m.recipients, m.created_at, `+settledAt+`, `+mayMove+`
			FROM messages m WHERE m.id > ? AND m.id < ? ORDER BY m.id LIMIT ?`, now, before, after, limit, &out)
		if err != nil || len(found) == 0 {
			return err
		}
		rows, err := t.lockRemoval(ctx, found, micros(before), now)
		if err != nil {
			return err
		}
		messages, err := t.lockMessages(ctx, found, rows)
		if err != nil || len(messages) == 0 {
			return err
		}
		return t.removeRecords(ctx, messages, rows, before, now, &out)
	})
	if err != nil {
		return Purged{}, fmt.Errorf("purge records: %w", err)
	}
	return out, nil
}

// removal is a delivery that goes, with what it is counted under.
type removal struct {
	id, message postledger.ID
	stat        statKey
	hour        int64
	stays       bool
}

// lockRemoval locks the deliveries in the order that every transaction does.
func (t *tx) lockRemoval(ctx context.Context, messages []postledger.ID, before, now int64) (map[postledger.ID][]removal, error) {
	out := make(map[postledger.ID][]removal, len(messages))
	where, args := t.anyOf("message_id", messages)
	err := t.each(ctx, func(rows *sql.Rows) error {
		var r removal
		var settled, resolveBy int64
		err := rows.Scan(&r.id, &r.message, &r.stat.app, &r.stat.profile, &r.stat.lane, &r.stat.status, &r.stat.reason, &settled, &resolveBy)
		r.hour = settled / microsPerHour
		r.stays = !r.stat.status.Settled() || settled >= before || (r.stat.status == postledger.StatusUnconfirmed && resolveBy > now)
		out[r.message] = append(out[r.message], r)
		return err
	}, `SELECT id, message_id, app_id, profile_id, lane, status, reason, coalesce(settled_at, 0), coalesce(resolve_by, 0)
		FROM deliveries WHERE `+where+` ORDER BY id`+t.forUpdate(), args...)
	return out, err
}

// removedMessage is a message that goes, with what it is counted under.
type removedMessage struct {
	id postledger.ID
	countKey
	hour int64
}

// lockMessages locks those messages whose deliveries all may go.
func (t *tx) lockMessages(ctx context.Context, found []postledger.ID, rows map[postledger.ID][]removal) ([]removedMessage, error) {
	found = slices.DeleteFunc(found, func(id postledger.ID) bool {
		return slices.ContainsFunc(rows[id], func(r removal) bool { return r.stays })
	})
	if len(found) == 0 {
		return nil, nil
	}
	var out []removedMessage
	where, args := t.anyOf("id", found)
	err := t.each(ctx, func(rows *sql.Rows) error {
		var m removedMessage
		var created int64
		err := rows.Scan(&m.id, &m.app, &m.profile, &m.lane, &created)
		m.hour = created / microsPerHour
		out = append(out, m)
		return err
	}, `SELECT id, app_id, profile_id, lane, created_at FROM messages WHERE `+where+` ORDER BY id`+t.forUpdate(), args...)
	return out, err
}

func (t *tx) removeRecords(ctx context.Context, messages []removedMessage, rows map[postledger.ID][]removal, before time.Time, now int64, out *Purged) error {
	var ids, deliveries []postledger.ID
	stats := map[hourStat]int64{}
	counts := map[hourCount]int64{}
	for _, m := range messages {
		ids = append(ids, m.id)
		counts[hourCount{m.countKey, m.hour}]++
		for _, r := range rows[m.id] {
			deliveries = append(deliveries, r.id)
			stats[hourStat{r.stat, r.hour}]++
		}
	}
	for _, d := range []struct {
		table, column string
		ids           []postledger.ID
	}{
		{"delivery_events", "delivery_id", deliveries},
		{"deliveries", "id", deliveries},
	} {
		if len(d.ids) == 0 {
			continue
		}
		where, args := t.anyOf(d.column, d.ids)
		if _, err := t.exec(ctx, `DELETE FROM `+d.table+` WHERE `+where, args...); err != nil {
			return fmt.Errorf("delete %s: %w", d.table, err)
		}
	}
	var err error
	if out.Blobs, err = t.dropContents(ctx, ids, now); err != nil {
		return err
	}
	where, args := t.anyOf("id", ids)
	if _, err := t.exec(ctx, `DELETE FROM messages WHERE `+where, args...); err != nil {
		return fmt.Errorf("delete messages: %w", err)
	}
	if err := countRemoved(ctx, t, stats, counts); err != nil {
		return err
	}
	out.Messages, out.Deliveries = len(ids), len(deliveries)
	return raiseRecordsBefore(ctx, t, micros(before))
}

type hourStat struct {
	statKey
	hour int64
}

type hourCount struct {
	countKey
	hour int64
}

// countRemoved raises the removed counters, in the lock order of settle's and
// accept's.
func countRemoved(ctx context.Context, t *tx, stats map[hourStat]int64, counts map[hourCount]int64) error {
	keys := make([]hourStat, 0, len(stats))
	for k := range stats {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b hourStat) int {
		return cmp.Or(cmp.Compare(a.hour, b.hour), compareIDs(a.app, b.app), compareIDs(a.profile, b.profile),
			cmp.Compare(a.lane, b.lane), cmp.Compare(a.status, b.status), cmp.Compare(a.reason, b.reason))
	})
	for _, k := range keys {
		if _, err := t.exec(ctx, `INSERT INTO stats_hours (hour, app_id, profile_id, lane, status, reason, n, removed) VALUES (?, ?, ?, ?, ?, ?, 0, ?)
			ON CONFLICT (hour, app_id, profile_id, lane, status, reason) DO UPDATE SET removed = stats_hours.removed + excluded.removed`,
			k.hour, k.app, k.profile, string(k.lane), string(k.status), string(k.reason), stats[k]); err != nil {
			return fmt.Errorf("count removed deliveries: %w", err)
		}
	}
	hours := make([]hourCount, 0, len(counts))
	for k := range counts {
		hours = append(hours, k)
	}
	slices.SortFunc(hours, func(a, b hourCount) int {
		return cmp.Or(cmp.Compare(a.hour, b.hour), compareIDs(a.app, b.app), compareIDs(a.profile, b.profile), cmp.Compare(a.lane, b.lane))
	})
	for _, k := range hours {
		if _, err := t.exec(ctx, `UPDATE accept_counts SET messages_removed = messages_removed + ?
			WHERE hour = ? AND app_id = ? AND profile_id = ? AND lane = ?`,
			counts[k], k.hour, k.app, k.profile, string(k.lane)); err != nil {
			return fmt.Errorf("count removed messages: %w", err)
		}
	}
	return nil
}

// raiseRecordsBefore notes how far records were purged.
func raiseRecordsBefore(ctx context.Context, t *tx, before int64) error {
	known, err := readRecordsBefore(ctx, t)
	if err != nil || known >= before {
		return err
	}
	return writeSetting(ctx, t, recordsBefore, strconv.FormatInt(before, 10))
}

func readRecordsBefore(ctx context.Context, t *tx) (int64, error) {
	text, err := readSetting(ctx, t, recordsBefore)
	if err != nil || text == "" {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read setting %s: %w", recordsBefore, err)
	}
	return n, nil
}

// KeyMark is how far a walk over the idempotency keys has come.
type KeyMark struct {
	app postledger.ID
	key string
}

// PurgeKeys removes idempotency keys that are older than the given time and
// whose message is gone: a key outlives its message. A step looks at limit
// keys (at most 1,000) in order of app and key; no index beyond the primary
// key, which accept would have to keep for every message.
func (l *Ledger) PurgeKeys(ctx context.Context, before time.Time, after KeyMark, limit int) (removed int, next KeyMark, done bool, err error) {
	limit = max(1, min(limit, maxPurge))
	err = l.write(ctx, func(ctx context.Context, t *tx) error {
		removed, next, done = 0, after, true
		var gone []KeyMark
		seen := 0
		if err := t.each(ctx, func(rows *sql.Rows) error {
			var goes bool
			seen++
			err := rows.Scan(&next.app, &next.key, &goes)
			if goes {
				gone = append(gone, next)
			}
			return err
		}, `SELECT k.app_id, k.key, k.created_at < ? AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = k.message_id)
			FROM idempotency_keys k WHERE (k.app_id, k.key) > (?, ?) ORDER BY k.app_id, k.key LIMIT ?`,
			micros(before), after.app[:], after.key, limit); err != nil {
			return err
		}
		done = seen < limit
		for _, k := range gone {
			if _, err := t.exec(ctx, `DELETE FROM idempotency_keys WHERE app_id = ? AND key = ?`, k.app, k.key); err != nil {
				return err
			}
		}
		removed = len(gone)
		return nil
	})
	if err != nil {
		return 0, after, false, fmt.Errorf("purge idempotency keys: %w", err)
	}
	return removed, next, done, nil
}

// PurgeAudit removes lines of the audit trail from before the given time, the
// oldest first, up to limit (at most 1,000) a call.
func (l *Ledger) PurgeAudit(ctx context.Context, before time.Time, limit int) (int, error) {
	limit = max(1, min(limit, maxPurge))
	var n int64
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		high := idAt(before.Add(idMayBeLater))
		var err error
		n, err = t.exec(ctx, `DELETE FROM audit_events WHERE id IN (
			SELECT id FROM audit_events WHERE id < ? AND at < ? ORDER BY id LIMIT ?)`, high[:], micros(before), limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("purge audit: %w", err)
	}
	return int(n), nil
}
