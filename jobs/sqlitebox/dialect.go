package sqlitebox

import (
	"errors"
	"strings"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/internal/sqlbox"
)

// dialect holds the turn of this process's writers: SQLite has one writer, and
// who waits here does not spend its busy timeout.
type dialect struct{ turn chan struct{} }

func newDialect() dialect { return dialect{turn: make(chan struct{}, 1)} }

func (dialect) Bind(query string) string { return query }

func (dialect) Now() string {
	return "(CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)"
}

func (dialect) Refs(refs []jobs.Ref) (string, []any) { return sqlbox.HexRefs(refs, "VALUES "), nil }

func (dialect) IDs(ids []jobs.ID) (string, []any) { return sqlbox.HexIDs(ids), nil }

func (dialect) Keys(keys []sqlbox.Key) (string, []any) {
	condition, args := sqlbox.PlainKeys(keys, "dedupe_key", "VALUES ")
	return condition + " AND dedupe_key IS NOT NULL", args
}

func (dialect) Returning() bool { return true }

// Alone: who writes must have had its turn, and holds the write lock from the start.
func (dialect) Alone() bool { return false }

func (d dialect) Insert(rows []sqlbox.Record, conflict sqlbox.Conflict) (string, []any) {
	statement, args := sqlbox.ValuesInsert("INSERT INTO", d.Now(), rows)
	switch conflict {
	case sqlbox.Ignore, sqlbox.Fresh:
		statement += " ON CONFLICT DO NOTHING"
	case sqlbox.Replace:
		statement += ` ON CONFLICT (id) DO NOTHING
			ON CONFLICT (handler, dedupe_key) WHERE state IN (0, 1) AND dedupe_key IS NOT NULL DO UPDATE SET
			id = excluded.id, rev = rev + 1, state = excluded.state, lane = excluded.lane, grp = excluded.grp,
			kind = excluded.kind, bypass = excluded.bypass, durable = max(durable, excluded.durable),
			payload = excluded.payload, run_at = excluded.run_at, max_attempts = excluded.max_attempts,
			timeout_us = excluded.timeout_us, attempts = excluded.attempts, enqueued_at = excluded.enqueued_at,
			refused = 0, reason = '', epoch = '',
			changed_at = CASE WHEN state = excluded.state THEN changed_at ELSE excluded.changed_at END`
	case sqlbox.GiveBack:
		statement += ` ON CONFLICT (id) DO UPDATE SET rev = rev + 1, state = excluded.state, run_at = excluded.run_at,
			attempts = excluded.attempts, reason = excluded.reason, epoch = '', changed_at = excluded.changed_at
			WHERE rev = excluded.rev AND state <> 3`
	}
	return statement, args
}

func (dialect) UpdateSome(set, where, order string) string {
	return "UPDATE job_outbox SET " + set + " WHERE place IN (" + some(where, order) + ")"
}

func (dialect) DeleteSome(where, order string) string {
	return "DELETE FROM job_outbox WHERE place IN (" + some(where, order) + ")"
}

func some(where, order string) string {
	return "SELECT place FROM job_outbox WHERE " + where + " ORDER BY " + order + " LIMIT ?"
}

func (d dialect) AcquireLease() string {
	now := d.Now()
	return `INSERT INTO job_leases (name, owner, fence, until) VALUES (?, ?, 1, ` + now + ` + ?)
		ON CONFLICT (name) DO UPDATE SET
			fence = CASE WHEN owner <> excluded.owner AND until <= ` + now + ` THEN fence + 1 ELSE fence END,
			owner = CASE WHEN until <= ` + now + ` THEN excluded.owner ELSE owner END,
			until = CASE WHEN owner = excluded.owner OR until <= ` + now + ` THEN excluded.until ELSE min(until, excluded.until) END
		WHERE owner = excluded.owner OR until <= ` + now + ` OR until > excluded.until`
}

func (dialect) SaveSchedule() string {
	return "INSERT OR REPLACE INTO job_schedules (" + sqlbox.ScheduleColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
}

func (dialect) ForUpdate() string { return "" }

func (dialect) Transient(err error) bool {
	// SQLITE_BUSY and SQLITE_LOCKED, whatever their extension. The drivers have
	// no type in common; one has no method for its code.
	const busy, locked = 5, 6
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code()&0xff == busy || coded.Code()&0xff == locked
	}
	return strings.Contains(err.Error(), "database is locked") || strings.Contains(err.Error(), "database table is locked")
}

func (dialect) Explain() string { return "EXPLAIN QUERY PLAN " }
