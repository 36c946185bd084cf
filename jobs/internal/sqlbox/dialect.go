package sqlbox

import (
	"context"
	"database/sql"

	"github.com/postledger/postledger/jobs"
)

// Dialect is where the databases differ. Conditions and statements have "?" as
// placeholder; Bind makes it the dialect's own.
type Dialect interface {
	// Bind turns each "?" of a statement into a placeholder.
	Bind(query string) string
	// Now is the database's time in microseconds. It is the same for the whole
	// of a statement, so that an index can be used.
	Now() string
	// Refs, IDs and Keys are conditions on rows of job_outbox: (id, rev) is one
	// of refs, id one of ids, (handler, dedupe_key) one of keys. They hold on the
	// columns' plain names and use an index.
	Refs(refs []jobs.Ref) (condition string, args []any)
	IDs(ids []jobs.ID) (condition string, args []any)
	Keys(keys []Key) (condition string, args []any)
	// Insert writes rows in their order.
	Insert(rows []Record, conflict Conflict) (statement string, args []any)
	// Returning tells whether the database has RETURNING, for Insert with [Ignore]
	// and [Replace].
	Returning() bool
	// Alone tells that a statement outside a transaction is one by itself, and that
	// Insert with [Fresh] fails when a row is there.
	Alone() bool
	// UpdateSome and DeleteSome change at most "?" rows (the last argument) that
	// hold a condition, the first in an order.
	UpdateSome(set, where, order string) string
	DeleteSome(where, order string) string
	// AcquireLease is an upsert of (name, owner, life in microseconds).
	AcquireLease() (statement string)
	// SaveSchedule is an upsert of job_schedules' columns in their order.
	SaveSchedule() string
	// ForUpdate ends a SELECT that locks its rows until the transaction ends.
	ForUpdate() string
	// Begin starts a transaction that may write.
	Begin(ctx context.Context, db *sql.DB) (Session, error)
	// Transient tells that a transaction was rolled back for no fault of its
	// own: it may be run again.
	Transient(err error) bool
	// Explain is what makes a statement tell its plan.
	Explain() string
}

// Session is a transaction.
type Session interface {
	Querier
	Commit() error
	Rollback() error
}

// Conflict says what an insert does with a row that is there.
type Conflict uint8

const (
	// Ignore leaves it alone, whatever it has in common: the id, or the key of a
	// buffered row.
	Ignore Conflict = iota
	// Replace takes the place of the buffered row of its (handler, key), with the
	// next rev. A row of the same id is left alone.
	Replace
	// GiveBack changes the row of that id, if its rev is the same and it was not
	// set aside: state, run_at, attempts and reason; and it gets the next rev.
	GiveBack
	// Fresh says that there is none: what it does with one is Ignore, or to fail with
	// an error that is Transient. No row has a key.
	Fresh
)

// Key is what makes jobs of one handler replace each other.
type Key struct{ Handler, Dedupe string }

// States of rows.
const (
	waiting     = 0
	scheduled   = 1
	admitted    = 2
	quarantined = 3
)

// Record is a row to be written.
type Record struct {
	jobs.Entry
	State  int
	Epoch  string
	Reason string
}

// Columns are those that an insert names, in the order of Values.
const Columns = `id, rev, state, lane, grp, handler, dedupe_key, kind, bypass, durable, payload,
	run_at, max_attempts, timeout_us, attempts, enqueued_at, refused, reason, epoch`

// ColumnCount is how many those are.
const ColumnCount = 19

// Values are a record's, but for changed_at, which is the database's.
func (r *Record) Values() [ColumnCount]any {
	id := r.ID
	var key any
	if r.DedupeKey != "" {
		key = r.DedupeKey
	}
	payload := r.Payload
	if payload == nil {
		payload = []byte{}
	}
	return [ColumnCount]any{
		id[:], r.Rev, r.State, LaneNumber(r.Lane), r.Group, r.Handler, key,
		int(r.Kind), bit(r.Bypass), bit(r.Durable), payload,
		Micros(r.RunAt), r.MaxAttempts, r.Timeout.Microseconds(), r.Attempts, Micros(r.EnqueuedAt), 0, r.Reason, r.Epoch,
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
