package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// JobRow is a job that exists when and only when the transaction commits that
// writes it: work that follows from what the transaction records. Its row is one
// of the job queue's (package jobs), whose columns the queue defines; a test holds
// what is written here against what the queue itself writes.
type JobRow struct {
	// ID must be the same whenever the same work is derived again.
	ID      postledger.ID
	Handler string
	// Slow jobs never keep the others waiting.
	Slow bool
	// Group is whose work it is; no group fills the queue, and each is in order.
	Group   string
	Payload []byte
	// RunAt is when it may start; zero means at once.
	RunAt       time.Time
	MaxAttempts int
	// Timeout bounds one run; zero is the handler's own.
	Timeout time.Duration
}

// The numbers of states and lanes in job_outbox.
const (
	jobWaiting   = 0
	jobScheduled = 1
	jobFast      = 0
	jobSlow      = 1
)

// insertJob is how each statement begins that writes jobs.
const insertJob = `INSERT INTO job_outbox (id, rev, state, lane, grp, handler, dedupe_key, kind, bypass, durable, payload,
	run_at, max_attempts, timeout_us, attempts, enqueued_at, refused, reason, epoch, changed_at) `

// queueJobs adds jobs to what the transaction writes. A job whose id is known
// changes nothing.
func (t *tx) queueJobs(ctx context.Context, rows []JobRow) error {
	if len(rows) == 0 {
		return nil
	}
	t.jobs += len(rows)
	if t.dialect == postgres {
		t.queueJobsPostgres(rows)
		return nil
	}
	now, err := t.nowMicros(ctx)
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		state := jobWaiting
		if micros(r.RunAt) > now {
			state = jobScheduled
		}
		t.queue("insert job", nil, insertJob+`
			VALUES (?, 1, ?, ?, ?, ?, NULL, 0, 0, 1, ?, ?, ?, ?, 0, ?, 0, '', '', ?) ON CONFLICT DO NOTHING`,
			r.ID[:], state, r.lane(), r.Group, r.Handler, r.payload(), micros(r.RunAt), r.MaxAttempts, r.Timeout.Microseconds(), now, now)
	}
	return nil
}

// jobNow is the job queue's own clock on PostgreSQL.
const jobNow = `(extract(epoch FROM statement_timestamp()) * 1000000)::bigint`

// queueJobsPostgres is one statement for all: ORDER BY n numbers their places in
// the order given.
func (t *tx) queueJobsPostgres(rows []JobRow) {
	t.queue("insert jobs", nil, insertJob+`
		SELECT u.id, 1, CASE WHEN u.run_at > c.now THEN 1 ELSE 0 END, u.lane, u.grp, u.handler, NULL, 0, 0, 1, u.payload,
			u.run_at, u.tries, u.timeout_us, 0, c.now, 0, '', '', c.now
		FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::text[], $5::bytea[], $6::bigint[], $7::int[], $8::bigint[])
			WITH ORDINALITY AS u(id, lane, grp, handler, payload, run_at, tries, timeout_us, n),
			(SELECT `+jobNow+` AS now) AS c
		ORDER BY u.n ON CONFLICT DO NOTHING`, jobColumns(rows)...)
}

// jobColumns are arrays of id, lane, group, handler, payload, moment, tries and timeout.
func jobColumns(rows []JobRow) []any {
	n := len(rows)
	ids, lanes := make([]postledger.ID, n), make([]int16, n)
	groups, handlers, payloads := make([]string, n), make([]string, n), make([][]byte, n)
	runAt, tries, timeouts := make([]int64, n), make([]int32, n), make([]int64, n)
	for i := range rows {
		r := &rows[i]
		ids[i], lanes[i], groups[i], handlers[i], payloads[i] = r.ID, int16(r.lane()), r.Group, r.Handler, r.payload()
		runAt[i], tries[i], timeouts[i] = micros(r.RunAt), int32(r.MaxAttempts), r.Timeout.Microseconds()
	}
	return []any{ids, lanes, groups, handlers, payloads, runAt, tries, timeouts}
}

func (r *JobRow) lane() int {
	if r.Slow {
		return jobSlow
	}
	return jobFast
}

func (r *JobRow) payload() []byte {
	if r.Payload == nil {
		return []byte{}
	}
	return r.Payload
}

// OnJobs has fn called after each transaction that wrote jobs. fn must not block.
func (l *Ledger) OnJobs(fn func()) { l.wroteJobs.Store(&fn) }

func (l *Ledger) hearJobs() {
	if fn := l.wroteJobs.Load(); fn != nil {
		(*fn)()
	}
}

var errJobsWait = errors.New("jobs wait or are set aside in job_outbox; let the server finish them, or remove their rows")

// refuseJobs fails while there are jobs: what was accepted is never dropped.
func (l *Ledger) refuseJobs(ctx context.Context) error {
	st, err := l.Migrations(ctx)
	if err != nil {
		return err
	}
	// The newest of those applied is what goes.
	newest := MigrationStatus{}
	for _, s := range st {
		if s.Applied {
			newest = s
		}
	}
	if newest.Version != jobsMigration {
		return nil
	}
	var n int64
	if err := l.read().row(ctx, []any{&n}, "SELECT count(*) FROM (SELECT 1 FROM job_outbox LIMIT 1) j"); err != nil {
		return fmt.Errorf("look for jobs: %w", err)
	}
	if n > 0 {
		return errJobsWait
	}
	return nil
}

// jobsMigration is the one that made the job queue's tables.
const jobsMigration = 4
