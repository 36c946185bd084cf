package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// Purged is what one step of a purge did. Steps walk the messages in order of
// their ids; the caller goes on at Next until Done.
type Purged struct {
	Messages, Deliveries int
	// Blobs were noted to be deleted from the store.
	Blobs int
	// KeptOpen messages are old enough and not settled; KeptUnconfirmed ones
	// have an unconfirmed delivery that may still move (invariant 15).
	KeptOpen, KeptUnconfirmed int
	Next                      postledger.ID
	Done                      bool
}

const (
	// maxPurge bounds one transaction: messages looked at, and deliveries removed.
	maxPurge = 1000
	// recordsBefore is the setting that holds how far records were purged:
	// what was accepted later must still be there, and books checks it.
	recordsBefore = "purge.records_before"
)

// PurgeContent removes the content of messages that were settled before the
// given time, up to limit (at most 1,000) a call: bodies, headers, and the
// attachments' references. Their blobs are noted to be deleted in the same
// transaction. Content that may still be needed stays (case B53).
func (l *Ledger) PurgeContent(ctx context.Context, before time.Time, after postledger.ID, limit int) (Purged, error) {
	var out Purged
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		out = Purged{}
		now, err := purgeClock(ctx, t, before)
		if err != nil {
			return err
		}
		// Contents that are left are few before the purge's edge: those that
		// must stay. So the walk over them is short, unlike one over messages.
		found, err := t.purgeable(ctx, `SELECT m.id, m.recipients, m.created_at, `+settledAt+`, `+mayMove+`
			FROM contents c JOIN messages m ON m.id = c.message_id
			WHERE c.message_id > ? AND c.message_id < ? ORDER BY c.message_id LIMIT ?`, now, before, after, limit, &out)
		if err != nil || len(found) == 0 {
			return err
		}
		where, args := t.anyOf("id", found)
		// A delivery that is sent again meanwhile opens its message: the
		// message's lock decides who was first, and a statement that begins
		// under it sees what came before.
		if _, err = t.ids(ctx, `SELECT id FROM messages WHERE `+where+` ORDER BY id`+t.forUpdate(), args...); err != nil {
			return err
		}
		where, args = t.anyOf("m.id", found)
		found, err = t.ids(ctx, `SELECT m.id FROM messages m WHERE `+where+` AND `+settledAt+` < ? ORDER BY m.id`, append(args, micros(before))...)
		if err != nil || len(found) == 0 {
			return err
		}
		if out.Blobs, err = t.dropContents(ctx, found, now); err != nil {
			return err
		}
		where, args = t.anyOf("id", found)
		_, err = t.exec(ctx, `UPDATE messages SET content_purged_at = ? WHERE `+where, append([]any{now}, args...)...)
		out.Messages = len(found)
		return err
	})
	if err != nil {
		return Purged{}, fmt.Errorf("purge content: %w", err)
	}
	return out, nil
}

// purgeClock refuses a purge of what is not past.
func purgeClock(ctx context.Context, t *tx, before time.Time) (int64, error) {
	now, err := t.nowMicros(ctx)
	if err == nil && micros(before) > now {
		err = &FilterError{"before", "must not be in the future"}
	}
	return now, err
}

// mayMove: the message has an unconfirmed delivery before its resolve-by time.
const mayMove = `EXISTS (SELECT 1 FROM deliveries d WHERE d.message_id = m.id AND d.status = 'unconfirmed' AND d.resolve_by > ?)`

// purgeable reads one step's messages and picks those that may go, as many as
// have at most maxPurge recipients together.
func (t *tx) purgeable(ctx context.Context, query string, now int64, before time.Time, after postledger.ID, limit int, out *Purged) ([]postledger.ID, error) {
	limit = max(1, min(limit, maxPurge))
	high := idAt(before.Add(idMayBeLater))
	var found []postledger.ID
	seen, recipients := 0, 0
	full := false
	err := t.each(ctx, func(rows *sql.Rows) error {
		var id postledger.ID
		var n int
		var created int64
		var settled sql.NullInt64
		var moves bool
		if err := rows.Scan(&id, &n, &created, &settled, &moves); err != nil || full {
			return err
		}
		goes := settled.Valid && settled.Int64 < micros(before) && !moves
		if goes && len(found) > 0 && recipients+n > limit {
			full = true
			return nil
		}
		seen++
		out.Next = id
		switch {
		case goes:
			found = append(found, id)
			recipients += n
		case !settled.Valid && created < micros(before):
			out.KeptOpen++
		case moves && settled.Int64 < micros(before):
			out.KeptUnconfirmed++
		}
		return nil
	}, query, now, after[:], high[:], limit)
	out.Done = !full && seen < limit
	return found, err
}

// dropContents deletes contents, with the shared bodies that none has any more,
// and notes their blobs.
func (t *tx) dropContents(ctx context.Context, messages []postledger.ID, now int64) (int, error) {
	var blobs []string
	shared := map[postledger.ID]int64{}
	where, args := t.anyOf("message_id", messages)
	if err := t.each(ctx, func(rows *sql.Rows) error {
		var text string
		var body postledger.ID
		if err := rows.Scan(&text, &body); err != nil {
			return err
		}
		if !body.IsZero() {
			shared[body]++
		}
		keys, err := blobKeys(text)
		blobs = append(blobs, keys...)
		return err
	}, `DELETE FROM contents WHERE `+where+` RETURNING attachments, shared_id`, args...); err != nil {
		return 0, fmt.Errorf("delete contents: %w", err)
	}
	if err := t.releaseShared(ctx, shared); err != nil {
		return 0, err
	}
	if err := trashBlobs(ctx, t, blobs, now); err != nil {
		return 0, fmt.Errorf("note blobs: %w", err)
	}
	return len(blobs), nil
}

// RetentionLag is how far behind a purge is: the age, beyond what the settings
// allow, of the oldest thing that should be gone. Zero when nothing is late.
type RetentionLag struct{ Content, Records time.Duration }

// lagProbe bounds how many old messages that must stay the lag looks past.
const lagProbe = 10_000

// Lag reads how far retention is behind, for an alarm.
func (l *Ledger) Lag(ctx context.Context, r RetentionSettings) (RetentionLag, error) {
	var out RetentionLag
	t := l.read()
	now, err := t.nowMicros(ctx)
	if err != nil {
		return out, err
	}
	for _, q := range []struct {
		lag  *time.Duration
		days int
		from string
	}{
		{&out.Content, r.ContentDays, `contents c JOIN messages m ON m.id = c.message_id ORDER BY c.message_id`},
		{&out.Records, r.RecordDays, `messages m ORDER BY m.id`},
	} {
		edge := now - (time.Duration(q.days) * 24 * time.Hour).Microseconds()
		var oldest sql.NullInt64
		// What was accepted later cannot be late: its deliveries are not looked at.
		if err := t.row(ctx, []any{&oldest}, `SELECT min(settled_at) FROM (
				SELECT CASE WHEN m.created_at < ? THEN `+settledAt+` END AS settled_at, m.id FROM `+q.from+` LIMIT ?) m
			WHERE settled_at < ? AND NOT `+mayMove, edge, lagProbe, edge, now); err != nil {
			return out, fmt.Errorf("read retention lag: %w", err)
		}
		if oldest.Valid {
			*q.lag = time.Duration(edge-oldest.Int64) * time.Microsecond
		}
	}
	return out, nil
}
