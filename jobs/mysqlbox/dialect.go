package mysqlbox

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/internal/sqlbox"
)

type dialect struct{}

func (dialect) Bind(query string) string { return query }

// Now does not depend on the session's time zone.
func (dialect) Now() string { return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))" }

func (dialect) Refs(refs []jobs.Ref) (string, []any) { return sqlbox.HexRefs(refs, ""), nil }

func (dialect) IDs(ids []jobs.ID) (string, []any) { return sqlbox.HexIDs(ids), nil }

func (dialect) Keys(keys []sqlbox.Key) (string, []any) {
	return sqlbox.PlainKeys(keys, "buffered_key", "")
}

// Returning: MariaDB could, MySQL cannot.
func (dialect) Returning() bool { return false }

func (dialect) Alone() bool { return true }

func (d dialect) Insert(rows []sqlbox.Record, conflict sqlbox.Conflict) (string, []any) {
	head := "INSERT INTO"
	if conflict == sqlbox.Ignore {
		head = "INSERT IGNORE INTO"
	}
	statement, args := sqlbox.ValuesInsert(head, d.Now(), rows)
	switch conflict {
	case sqlbox.Replace:
		// A row of the same id is left alone.
		statement += onDuplicate("id <> VALUES(id)", []string{
			"changed_at = state = VALUES(state), changed_at, VALUES(changed_at)",
			"durable = TRUE, GREATEST(durable, VALUES(durable)), durable",
			"rev = TRUE, rev + 1, rev",
		}, "state", "lane", "grp", "kind", "bypass", "payload", "run_at", "max_attempts", "timeout_us",
			"attempts", "enqueued_at", "refused", "reason", "epoch", "id")
	case sqlbox.GiveBack:
		statement += onDuplicate("id = VALUES(id) AND rev = VALUES(rev) AND state <> 3", nil,
			"run_at", "attempts", "reason", "epoch", "changed_at", "state")
		// The row that was just changed: its state says no more which it was.
		statement += ", rev = IF(id = VALUES(id) AND rev = VALUES(rev) AND changed_at = VALUES(changed_at), rev + 1, rev)"
	}
	return statement, args
}

// onDuplicate sets columns where a condition holds. MySQL shows an assignment
// what earlier ones have made of a column, so those that the condition reads come
// last.
func onDuplicate(condition string, computed []string, columns ...string) string {
	var set []string
	for _, c := range computed {
		column, value, _ := strings.Cut(c, " = ")
		set = append(set, column+" = IF("+condition+", IF("+value+"), "+column+")")
	}
	for _, column := range columns {
		set = append(set, column+" = IF("+condition+", VALUES("+column+"), "+column+")")
	}
	return " ON DUPLICATE KEY UPDATE " + strings.Join(set, ", ")
}

func (dialect) UpdateSome(set, where, order string) string {
	return "UPDATE job_outbox SET " + set + " WHERE " + where + " ORDER BY " + order + " LIMIT ?"
}

func (dialect) DeleteSome(where, order string) string {
	return "DELETE FROM job_outbox WHERE " + where + " ORDER BY " + order + " LIMIT ?"
}

func (d dialect) AcquireLease() string {
	now := d.Now()
	return `INSERT INTO job_leases (name, owner, fence, until) VALUES (?, ?, 1, ` + now + ` + ?)
		ON DUPLICATE KEY UPDATE
			fence = IF(owner <> VALUES(owner) AND until <= ` + now + `, fence + 1, fence),
			owner = IF(until <= ` + now + `, VALUES(owner), owner),
			until = IF(owner = VALUES(owner), VALUES(until), LEAST(until, VALUES(until)))`
}

func (dialect) SaveSchedule() string {
	return "REPLACE INTO job_schedules (" + sqlbox.ScheduleColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
}

func (dialect) ForUpdate() string { return " FOR UPDATE" }

// Under READ COMMITTED an insert locks no gaps, in which others insert.
func (dialect) Begin(ctx context.Context, db *sql.DB) (sqlbox.Session, error) {
	return db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
}

// Deadlocks, a lock that was waited for too long, a row that changed since it was
// read (MariaDB 11), and a unique key that another transaction inserted after
// this one had looked.
func (dialect) Transient(err error) bool {
	const deadlock, lockWait, changed, duplicate = 1213, 1205, 1020, 1062
	var my *mysql.MySQLError
	if !errors.As(err, &my) {
		return false
	}
	switch my.Number {
	case deadlock, lockWait, changed, duplicate:
		return true
	}
	return false
}

func (dialect) Explain() string { return "EXPLAIN " }
