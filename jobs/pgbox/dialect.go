package pgbox

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/internal/sqlbox"
)

type dialect struct{}

func (dialect) Bind(query string) string {
	if !strings.Contains(query, "?") {
		return query
	}
	var bound strings.Builder
	n := 0
	for _, r := range query {
		if r != '?' {
			bound.WriteRune(r)
			continue
		}
		n++
		bound.WriteByte('$')
		bound.WriteString(strconv.Itoa(n))
	}
	return bound.String()
}

func (dialect) Now() string { return "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint" }

func (dialect) Refs(refs []jobs.Ref) (string, []any) {
	ids, revs, same := make([][16]byte, len(refs)), make([]int64, len(refs)), true
	for i, ref := range refs {
		ids[i], revs[i] = ref.ID, ref.Rev
		same = same && ref.Rev == refs[0].Rev
	}
	// Rows are looked up by their ids, whoever changes them, and locked in that order
	// (see the package's text). By pairs, which are hashed, two statements about the
	// same rows took them in different orders and waited for each other.
	if same && len(refs) > 0 { // nearly always
		return "id = ANY (?::uuid[]) AND rev = ?::bigint", []any{ids, refs[0].Rev}
	}
	// IS TRUE keeps the pairs from being what is looked up rows by.
	return "id = ANY (?::uuid[]) AND ((id, rev) IN (SELECT * FROM unnest(?::uuid[], ?::bigint[]))) IS TRUE", []any{ids, ids, revs}
}

func (dialect) IDs(ids []jobs.ID) (string, []any) {
	all := make([][16]byte, len(ids))
	for i, id := range ids {
		all[i] = id
	}
	return "id = ANY (?::uuid[])", []any{all}
}

func (dialect) Keys(keys []sqlbox.Key) (string, []any) {
	handlers, dedupe := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		handlers[i], dedupe[i] = key.Handler, key.Dedupe
	}
	return "(handler, dedupe_key) IN (SELECT * FROM unnest(?::text[], ?::text[])) AND dedupe_key IS NOT NULL", []any{handlers, dedupe}
}

func (dialect) Returning() bool { return true }

func (dialect) Alone() bool { return true }

// The inner rows are locked, so that the condition holds for what is changed.
func (dialect) UpdateSome(set, where, order string) string {
	return "UPDATE job_outbox SET " + set + " WHERE id IN (" + some(where, order) + ")"
}

func (dialect) DeleteSome(where, order string) string {
	return "DELETE FROM job_outbox WHERE id IN (" + some(where, order) + ")"
}

func some(where, order string) string {
	return "SELECT id FROM job_outbox WHERE " + where + " ORDER BY " + order + " LIMIT ? FOR UPDATE SKIP LOCKED"
}

func (d dialect) AcquireLease() string {
	now := d.Now()
	return `INSERT INTO job_leases AS l (name, owner, fence, until) VALUES (?, ?, 1, ` + now + ` + ?::bigint)
		ON CONFLICT (name) DO UPDATE SET
			fence = CASE WHEN l.owner <> excluded.owner AND l.until <= ` + now + ` THEN l.fence + 1 ELSE l.fence END,
			owner = CASE WHEN l.until <= ` + now + ` THEN excluded.owner ELSE l.owner END,
			until = CASE WHEN l.owner = excluded.owner OR l.until <= ` + now + ` THEN excluded.until ELSE least(l.until, excluded.until) END
		WHERE l.owner = excluded.owner OR l.until <= ` + now + ` OR l.until > excluded.until`
}

func (dialect) SaveSchedule() string {
	return "INSERT INTO job_schedules (" + sqlbox.ScheduleColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, zone = excluded.zone, enabled = excluded.enabled,
			handler = excluded.handler, payload = excluded.payload, lane = excluded.lane,
			max_attempts = excluded.max_attempts, timeout_us = excluded.timeout_us,
			next_at = excluded.next_at, last_at = excluded.last_at`
}

func (dialect) ForUpdate() string { return " FOR UPDATE" }

func (dialect) Begin(ctx context.Context, db *sql.DB) (sqlbox.Session, error) {
	return db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
}

// Deadlocks, serialization failures, and a unique key that another transaction
// inserted after this one had looked.
func (dialect) Transient(err error) bool {
	var state interface{ SQLState() string }
	return errors.As(err, &state) && slices.Contains([]string{"40P01", "40001", "23505"}, state.SQLState())
}

func (dialect) Explain() string { return "EXPLAIN " }
