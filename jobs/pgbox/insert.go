package pgbox

import (
	"github.com/postledger/postledger/jobs/internal/sqlbox"
)

// Insert passes each column as an array: the statement's text is the same for
// any number of rows, so it is planned once. ORDER BY n numbers the places in
// the rows' order.
func (d dialect) Insert(rows []sqlbox.Record, conflict sqlbox.Conflict) (string, []any) {
	if conflict == sqlbox.Fresh && alike(rows) {
		return d.insertAlike(rows)
	}
	insert := "INSERT INTO job_outbox (" + sqlbox.Columns + ", changed_at) SELECT " + sqlbox.Columns + ", " + d.Now() + `
		FROM unnest(?::uuid[], ?::bigint[], ?::smallint[], ?::smallint[], ?::text[], ?::text[], ?::text[],
			?::smallint[], ?::smallint[], ?::smallint[], ?::bytea[],
			?::bigint[], ?::int[], ?::bigint[], ?::int[], ?::bigint[], ?::int[], ?::text[], ?::text[])
		WITH ORDINALITY AS u (` + sqlbox.Columns + `, n)`
	switch conflict {
	case sqlbox.Fresh:
		insert += " ORDER BY n"
	case sqlbox.Ignore:
		insert += " ORDER BY n ON CONFLICT DO NOTHING"
	case sqlbox.Replace:
		insert += ` WHERE NOT EXISTS (SELECT 1 FROM job_outbox o WHERE o.id = u.id) ORDER BY n
			ON CONFLICT (handler, dedupe_key) WHERE state IN (0, 1) AND dedupe_key IS NOT NULL DO UPDATE SET
			id = excluded.id, rev = job_outbox.rev + 1, state = excluded.state, lane = excluded.lane, grp = excluded.grp,
			kind = excluded.kind, bypass = excluded.bypass, durable = greatest(job_outbox.durable, excluded.durable),
			payload = excluded.payload, run_at = excluded.run_at, max_attempts = excluded.max_attempts,
			timeout_us = excluded.timeout_us, attempts = excluded.attempts, enqueued_at = excluded.enqueued_at,
			refused = 0, reason = '', epoch = '',
			changed_at = CASE WHEN job_outbox.state = excluded.state THEN job_outbox.changed_at ELSE excluded.changed_at END`
	case sqlbox.GiveBack:
		insert += ` ORDER BY n ON CONFLICT (id) DO UPDATE SET rev = job_outbox.rev + 1, state = excluded.state, run_at = excluded.run_at,
			attempts = excluded.attempts, reason = excluded.reason, epoch = '', changed_at = excluded.changed_at
			WHERE job_outbox.rev = excluded.rev AND job_outbox.state <> 3`
	}
	return insert, columns(rows)
}

// alike tells whether the rows differ in nothing but id, payload and when they were
// handed over, as a list does that was made for one purpose.
func alike(rows []sqlbox.Record) bool {
	first := &rows[0]
	for i := range rows {
		r := &rows[i]
		if r.State != first.State || r.Epoch != first.Epoch || r.Reason != first.Reason || r.Rev != first.Rev ||
			r.Durable != first.Durable || r.Attempts != first.Attempts || r.Lane != first.Lane || r.Group != first.Group ||
			r.Handler != first.Handler || r.DedupeKey != first.DedupeKey || r.Kind != first.Kind || r.Bypass != first.Bypass ||
			!r.RunAt.Equal(first.RunAt) || r.MaxAttempts != first.MaxAttempts || r.Timeout != first.Timeout {
			return false
		}
	}
	return true
}

// insertAlike passes what is the same for all rows once: an array of it costs the
// server as much as one that says something.
func (d dialect) insertAlike(rows []sqlbox.Record) (string, []any) {
	n := len(rows)
	ids, payloads, enqueued := make([][16]byte, n), make([][]byte, n), make([]int64, n)
	for i := range rows {
		ids[i], enqueued[i] = rows[i].ID, sqlbox.Micros(rows[i].EnqueuedAt)
		if payloads[i] = rows[i].Payload; payloads[i] == nil {
			payloads[i] = []byte{}
		}
	}
	r := &rows[0]
	var key *string
	if r.DedupeKey != "" {
		key = &r.DedupeKey
	}
	return "INSERT INTO job_outbox (" + sqlbox.Columns + `, changed_at)
		SELECT u.id, ?::bigint, ?::smallint, ?::smallint, ?::text, ?::text, ?::text, ?::smallint, ?::smallint, ?::smallint, u.payload,
			?::bigint, ?::int, ?::bigint, ?::int, u.enqueued_at, 0, ?::text, ?::text, ` + d.Now() + `
		FROM unnest(?::uuid[], ?::bytea[], ?::bigint[]) WITH ORDINALITY AS u (id, payload, enqueued_at, n) ORDER BY n`,
		[]any{
			r.Rev, int16(r.State), int16(sqlbox.LaneNumber(r.Lane)), r.Group, r.Handler, key, int16(r.Kind), bit(r.Bypass), bit(r.Durable),
			sqlbox.Micros(r.RunAt), int32(r.MaxAttempts), r.Timeout.Microseconds(), int32(r.Attempts), r.Reason, r.Epoch,
			ids, payloads, enqueued,
		}
}

func columns(rows []sqlbox.Record) []any {
	n := len(rows)
	ids, revs := make([][16]byte, n), make([]int64, n)
	states, lanes, kinds, bypass, durable := make([]int16, n), make([]int16, n), make([]int16, n), make([]int16, n), make([]int16, n)
	groups, handlers, reasons, epochs := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	keys, payloads := make([]*string, n), make([][]byte, n)
	runAt, timeouts, enqueued := make([]int64, n), make([]int64, n), make([]int64, n)
	maxAttempts, attempts, refused := make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range rows {
		r := &rows[i]
		ids[i], revs[i], states[i], lanes[i] = r.ID, r.Rev, int16(r.State), int16(sqlbox.LaneNumber(r.Lane))
		groups[i], handlers[i], reasons[i], epochs[i] = r.Group, r.Handler, r.Reason, r.Epoch
		kinds[i], bypass[i], durable[i] = int16(r.Kind), bit(r.Bypass), bit(r.Durable)
		runAt[i], timeouts[i], enqueued[i] = sqlbox.Micros(r.RunAt), r.Timeout.Microseconds(), sqlbox.Micros(r.EnqueuedAt)
		maxAttempts[i], attempts[i] = int32(r.MaxAttempts), int32(r.Attempts)
		if r.DedupeKey != "" {
			keys[i] = &r.DedupeKey
		}
		if payloads[i] = r.Payload; r.Payload == nil {
			payloads[i] = []byte{}
		}
	}
	return []any{
		ids, revs, states, lanes, groups, handlers, keys, kinds, bypass, durable, payloads,
		runAt, maxAttempts, timeouts, attempts, enqueued, refused, reasons, epochs,
	}
}

func bit(b bool) int16 {
	if b {
		return 1
	}
	return 0
}
