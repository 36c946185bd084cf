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
	// Epoch is the queue's to say: with one the row is written as admitted under it,
	// for this process to put the job where workers find it, else as waiting.
	Epoch string
	// EnqueuedAt is when it was written, which the transaction says.
	EnqueuedAt time.Time
}

// JobQueue runs the jobs whose rows transactions write. Its methods must not wait.
type JobQueue interface {
	// Place says of jobs that are about to be written how they are to be: it sets
	// their Epoch. It is called with rows locked, and again for a transaction that is
	// repeated.
	Place(rows []JobRow)
	// Wrote is called after each transaction that wrote jobs, with all that it wrote.
	Wrote(rows []JobRow)
	// Unsure is called after a transaction of which it is not known which of these
	// jobs it wrote, or whether it was committed.
	Unsure(rows []JobRow)
}

// SetJobQueue sets who runs jobs.
func (l *Ledger) SetJobQueue(q JobQueue) { l.jobQueue.Store(&q) }

// The numbers of states and lanes in job_outbox.
const (
	jobWaiting   = 0
	jobScheduled = 1
	jobAdmitted  = 2
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
	t.place(rows)
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
		switch {
		case micros(r.RunAt) > now:
			state = jobScheduled
		case r.Epoch != "":
			state = jobAdmitted
		}
		wrote := func(n int64) error {
			if n > 0 {
				t.wrote(r, now)
				t.jobs.n++
			}
			return nil
		}
		t.queue("insert job", wrote, insertJob+`
			VALUES (?, 1, ?, ?, ?, ?, NULL, 0, 0, 1, ?, ?, ?, ?, 0, ?, 0, '', ?, ?) ON CONFLICT DO NOTHING`,
			r.ID[:], state, r.lane(), r.Group, r.Handler, r.payload(), micros(r.RunAt), r.MaxAttempts, r.Timeout.Microseconds(), now, r.Epoch, now)
	}
	return nil
}

// jobsWritten is what a transaction knows of the jobs that it writes.
type jobsWritten struct {
	queue JobQueue // or nil
	asked []JobRow // may be written
	wrote []JobRow // have been, as far as is known
	n     int      // how many the database says were
}

// place asks how jobs are to be written that may start at once.
func (t *tx) place(rows []JobRow) {
	for i := range rows {
		rows[i].Epoch = ""
	}
	if t.jobs.queue != nil {
		t.jobs.queue.Place(rows)
	}
	for i := range rows {
		if !rows[i].RunAt.IsZero() {
			rows[i].Epoch = ""
		}
	}
	t.jobs.asked = append(t.jobs.asked, rows...)
}

func (t *tx) wrote(r *JobRow, at int64) {
	row := *r
	row.EnqueuedAt = fromMicros(at)
	t.jobs.wrote = append(t.jobs.wrote, row)
}

// told tells the queue what became of a transaction's jobs.
func (j *jobsWritten) told(err error) {
	var open *commitError
	switch {
	case j.queue == nil || len(j.asked) == 0:
	case err != nil:
		if errors.As(err, &open) {
			j.queue.Unsure(j.asked)
		}
	case j.n != len(j.wrote):
		j.queue.Unsure(j.asked) // some were there before
	case j.n > 0:
		j.queue.Wrote(j.wrote)
	}
}

// jobNow is the job queue's own clock on PostgreSQL.
const jobNow = `(extract(epoch FROM statement_timestamp()) * 1000000)::bigint`

// queueJobsPostgres is one statement for all: ORDER BY n numbers their places in
// the order given.
func (t *tx) queueJobsPostgres(rows []JobRow) {
	byID := make(map[postledger.ID]*JobRow, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	wrote := func(r row) error {
		var id postledger.ID
		var at int64
		if err := r.Scan(idColumn{&id}, &at); err != nil {
			return err
		}
		t.wrote(byID[id], at)
		t.jobs.n++
		return nil
	}
	t.queueRead("insert jobs", wrote, insertJob+`
		SELECT u.id, 1, `+jobState+`, u.lane, u.grp, u.handler, NULL, 0, 0, 1, u.payload,
			u.run_at, u.tries, u.timeout_us, 0, c.now, 0, '', u.epoch, c.now
		FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::text[], $5::bytea[], $6::bigint[], $7::int[], $8::bigint[], $9::text[])
			WITH ORDINALITY AS u(id, lane, grp, handler, payload, run_at, tries, timeout_us, epoch, n),
			(SELECT `+jobNow+` AS now) AS c
		ORDER BY u.n ON CONFLICT DO NOTHING RETURNING id, enqueued_at`, jobColumns(rows)...)
}

// jobState is a row's state.
const jobState = `CASE WHEN u.run_at > c.now THEN 1 WHEN u.epoch <> '' THEN 2 ELSE 0 END`

// jobColumns are arrays of id, lane, group, handler, payload, moment, tries, timeout
// and epoch.
func jobColumns(rows []JobRow) []any {
	n := len(rows)
	ids, lanes := make([]postledger.ID, n), make([]int16, n)
	groups, handlers, payloads, epochs := make([]string, n), make([]string, n), make([][]byte, n), make([]string, n)
	runAt, tries, timeouts := make([]int64, n), make([]int32, n), make([]int64, n)
	for i := range rows {
		r := &rows[i]
		ids[i], lanes[i], groups[i], handlers[i], payloads[i] = r.ID, int16(r.lane()), r.Group, r.Handler, r.payload()
		runAt[i], tries[i], timeouts[i], epochs[i] = micros(r.RunAt), int32(r.MaxAttempts), r.Timeout.Microseconds(), r.Epoch
	}
	return []any{ids, lanes, groups, handlers, payloads, runAt, tries, timeouts, epochs}
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
