package jobs

import (
	"context"
	"database/sql"
	"time"
)

// Outbox is the durable side: rows in the application's SQL database. Stores are
// packages below this one; jobs/outboxtest is what a store must pass.
//
// A row is touched only under the (id, rev) that its toucher read. Every method
// is one transaction; an error of a method that writes means that the fate of the
// transaction is unknown, and each may be repeated.
type Outbox interface {
	OutboxRows
	OutboxQuarantine
	Leases
	Schedules
}

// State is a row's.
type State string

const (
	// Buffered rows wait for room in the hot set, or for their time.
	Buffered State = "buffered"
	// Admitted rows are in the hot set, or on their way into it.
	Admitted State = "admitted"
	// Quarantined rows are set aside: the job could not be admitted, its
	// attempts are used up, or nobody can read it. A person decides.
	Quarantined State = "quarantined"
)

// Row is a job in the outbox.
type Row struct {
	Entry
	State State
	// Place orders rows: by when the job (or the first of those that replaced
	// each other under a dedupe key) was written. An upsert and a return keep it.
	Place int64
	// Epoch is the hot set's when the row was admitted.
	Epoch string
	// Refused counts failed admissions.
	Refused int
	// Reason says why the last run or admission failed.
	Reason string
	// ChangedAt is when the row's state last changed.
	ChangedAt time.Time
}

// Insertion is a row to be written.
type Insertion struct {
	Entry
	// Epoch, when it is set, inserts the row as Admitted into that hot set, for
	// the producer that adds it there next. It is ignored for a job with a
	// dedupe key, which is always inserted as Buffered.
	Epoch string
}

// Inserted is what became of an Insertion.
type Inserted struct {
	Ref
	// Fresh is false when a row of that id was there: nothing changed.
	Fresh bool
}

// OutboxRows are the ways of a row.
type OutboxRows interface {
	// Insert commits rows: plain ones in the order given, behind what is there;
	// those with a dedupe key in an order of their own. A row whose id is there
	// (in any state) changes nothing. A row with a dedupe key replaces the
	// buffered row of its (handler, key), if there is one: id, payload and every
	// other field are the new job's, the place is kept and rev grows by one. It
	// stays durable if either was. There is at most one buffered row for a
	// (handler, key), also across processes.
	Insert(ctx context.Context, rows []Insertion) ([]Inserted, error)
	// InsertTx writes rows into the caller's transaction, as durable and
	// buffered. They exist when and only when the caller commits.
	InsertTx(ctx context.Context, tx Tx, rows []Entry) error

	// Ripen makes up to limit scheduled rows wait whose time has come, the longest
	// due first, and tells how many. Until then they are not due.
	Ripen(ctx context.Context, limit int) (int, error)
	// Waiting is a page of buffered rows that are due, in the order of place.
	Waiting(ctx context.Context, page Page) ([]Row, error)
	// WaitingGroups are the groups of a lane with buffered rows that are due,
	// after a name in the order of names; the empty group is none of them.
	WaitingGroups(ctx context.Context, lane Lane, after string, limit int) ([]string, error)
	// NextDue is when the next buffered row that is not due yet will be; zero
	// when there is none.
	NextDue(ctx context.Context) (time.Time, error)

	// Admit marks buffered rows as admitted under an epoch; those whose revision
	// has changed stay buffered. It tells how many were marked.
	Admit(ctx context.Context, epoch string, refs []Ref) (int, error)
	// Remove deletes rows in any state: of a job that has finished, or of one
	// that is not durable and has been admitted. It tells how many were removed.
	Remove(ctx context.Context, refs []Ref) (int, error)
	// Rebuffer makes admitted rows buffered again under the revision given. Of
	// those with one dedupe key the newest, if none is buffered: the rows of the
	// others, which were superseded, are removed.
	Rebuffer(ctx context.Context, refs []Ref) (int, error)
	// RebufferEpoch makes up to limit admitted rows of other epochs than this one
	// buffered again. It tells how many; zero means that none are left.
	RebufferEpoch(ctx context.Context, epoch string, limit int) (int, error)
	// AdmittedBefore pages through admitted rows whose state is older than age,
	// after a place: the drain asks the hot set whether it holds them.
	AdmittedBefore(ctx context.Context, age time.Duration, after int64, limit int) ([]Row, error)

	// GiveBack takes jobs from the hot set back: for later, or set aside. A row
	// of that (id, rev) changes, unless a person has set it aside, and gets the
	// next rev: the drain that is between adding the job and removing or marking
	// its row must not do that to what was given back; a row of
	// another revision is left alone. Where there is no row of that id one is
	// inserted, at the end, if the job is not durable: a durable job without a row
	// has finished. A job that is to be buffered and has a dedupe key whose
	// buffered row is a newer job was superseded: its own row is removed.
	GiveBack(ctx context.Context, jobs []GivenBack) error

	// Backlog counts.
	Backlog(ctx context.Context) (Backlog, error)
	// List and Get are for people. A page of a list is one look at the rows, in the
	// order in which they come to run: admitted ones, waiting ones by lane, group and
	// place, scheduled ones by their time, and those set aside by when they were. It
	// reads a bounded number of rows, so it may be short, or empty, and still have a
	// next one: the list ends where next is empty. A row that changes its state
	// between two pages may come twice, or not at all. A cursor of another list is an
	// ErrBadCursor.
	List(ctx context.Context, query Query) (rows []Row, next string, err error)
	Get(ctx context.Context, id ID) (Row, error)
}

// OutboxQuarantine sets rows aside and back.
type OutboxQuarantine interface {
	// Refuse counts a failed admission; the row is quarantined at the limit.
	Refuse(ctx context.Context, refs []Ref, reason string, limit int) error
	// Quarantine sets rows aside by hand; Release makes them buffered with
	// fresh counts. Both tell how many rows changed.
	Quarantine(ctx context.Context, ids []ID, reason string) (int, error)
	Release(ctx context.Context, ids []ID) (int, error)
	// Hurry makes rows due now that wait for later, such as retries. It tells how
	// many rows changed.
	Hurry(ctx context.Context, ids []ID) (int, error)
	// PruneQuarantined deletes up to limit rows set aside longer than age.
	PruneQuarantined(ctx context.Context, age time.Duration, limit int) (int, error)
}

// Page asks for rows of one scope.
type Page struct {
	Scope
	// After is the last place seen, for a caller that leaves rows where they are.
	After int64
	// Limit bounds rows, Bytes payloads (the first row comes always).
	Limit int
	Bytes int64
}

// GivenBack is a job that leaves the hot set unfinished.
type GivenBack struct {
	// Entry has the attempts so far, and RunAt when it is to be tried again.
	Entry
	// State is Buffered or Quarantined.
	State  State
	Reason string
}

// Backlog counts what waits in the outbox.
type Backlog struct {
	// Buffered rows that are due, and the age of the oldest, by lane.
	Buffered map[Lane]int64
	Oldest   map[Lane]time.Duration
	// Scheduled rows are buffered and not due.
	Scheduled   int64
	Admitted    int64
	Quarantined int64
}

// Rows counts the rows that are buffered, due or not.
func (b Backlog) Rows() int64 {
	n := b.Scheduled
	for _, waiting := range b.Buffered {
		n += waiting
	}
	return n
}

// Query filters rows; empty fields do not.
type Query struct {
	State   State
	Lane    Lane
	Handler string
	Group   string
	// After is the next of the page before.
	After string
	Limit int
}

// Tx is a transaction of the caller's, in the dialect of the outbox: SQLTx, or
// what a package for another database driver wraps.
type Tx interface {
	Exec(ctx context.Context, query string, args ...any) error
}

// SQLTx makes a database/sql transaction usable for EnqueueTx.
func SQLTx(tx *sql.Tx) Tx { return sqlTx{tx} }

type sqlTx struct{ tx *sql.Tx }

func (t sqlTx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := t.tx.ExecContext(ctx, query, args...)
	return err
}

// Leases are rights of one process in the fleet: the drain, a singleton's run.
type Leases interface {
	// AcquireLease takes or renews a lease for life from now. The fence grows
	// each time the owner changes; ok is false when another holds it. All who ask
	// for a name ask for one life: a lease that reaches further ahead was written
	// under another clock, and is brought near.
	AcquireLease(ctx context.Context, name, owner string, life time.Duration) (fence int64, ok bool, err error)
	// ReleaseLease ends it, if it is the owner's.
	ReleaseLease(ctx context.Context, name, owner string) error
}
