package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// Worker is one start of a process that delivers.
type Worker struct {
	ID        postledger.ID
	Host      string
	BootID    string
	PID       int
	Version   string
	StartedAt time.Time
	// Counts are what it committed; observers look at the change of Beats,
	// never at a clock.
	Counts
	BeatAt  time.Time
	EndedAt time.Time
}

// Counts of a worker's own commits, each moved inside the transaction that it
// then stands for: a ledger that holds less of one does not hold that
// transaction either, which is how a restored one is known (invariant 17). They
// are two rows because a lease and a settle run at once, and in one row each
// would wait for the other's COMMIT.
type Counts struct {
	// Beats counts heartbeats and leases.
	Beats int64
	// Settles counts settles.
	Settles int64
}

// Before reports whether a ledger that holds c lacks something of what o counts.
func (c Counts) Before(o Counts) bool { return c.Beats < o.Beats || c.Settles < o.Settles }

// Max is the higher of each.
func (c Counts) Max(o Counts) Counts {
	return Counts{max(c.Beats, o.Beats), max(c.Settles, o.Settles)}
}

// ErrWorkerUnknown: the worker's row is missing, has ended, or is older than
// what the worker knows it committed: the ledger is not the one it wrote to.
var ErrWorkerUnknown = errors.New("the ledger does not know this worker's last heartbeat")

// StartWorker writes the row that leases name.
func (l *Ledger) StartWorker(ctx context.Context, w Worker) error {
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		now, err := t.nowMicros(ctx)
		if err != nil {
			return err
		}
		if _, err = t.exec(ctx, `INSERT INTO workers (id, host, boot_id, pid, version, started_at, beat, beat_at)
			VALUES (?, ?, ?, ?, ?, ?, 1, ?)`, w.ID, w.Host, w.BootID, w.PID, w.Version, now, now); err != nil {
			return err
		}
		_, err = t.exec(ctx, `INSERT INTO worker_settles (worker_id, settles) VALUES (?, 0)`, w.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	return nil
}

// knowWorker brings a worker's counts to those that its journal holds, and
// ends it, so that a process which still runs under it is told that this is not
// its ledger, and its journal is no proof of another restore.
func (t *tx) knowWorker(ctx context.Context, w *Worker, now int64) error {
	var held Counts
	err := t.row(ctx, []any{&held.Beats, &held.Settles}, `SELECT `+countColumns+` FROM workers w WHERE w.id = ?`+t.forUpdate(), w.ID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	case !held.Before(w.Counts):
		return nil
	}
	to := held.Max(w.Counts)
	if _, err := t.exec(ctx, `INSERT INTO workers (id, host, boot_id, pid, version, started_at, beat, beat_at, ended_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET beat = excluded.beat, ended_at = coalesce(workers.ended_at, excluded.ended_at)`,
		w.ID, w.Host, w.BootID, w.PID, w.Version, now, to.Beats, now, now); err != nil {
		return err
	}
	_, err = t.exec(ctx, `INSERT INTO worker_settles (worker_id, settles) VALUES (?, ?)
		ON CONFLICT (worker_id) DO UPDATE SET settles = excluded.settles`, w.ID, to.Settles)
	return err
}

// Heartbeat moves the worker's count of beats on, and returns it. It fails with
// ErrWorkerUnknown when the row is missing, has ended, or holds less than last,
// the highest counts that the worker knows were committed.
func (l *Ledger) Heartbeat(ctx context.Context, worker postledger.ID, last Counts) (int64, error) {
	var beat int64
	fn := func(ctx context.Context, t *tx) error {
		var err error
		beat, err = t.beat(ctx, worker, last)
		return err
	}
	var err error
	if l.beats == nil {
		err = l.write(ctx, fn)
	} else {
		shared := l.beatShared.Load()
		pool := l.beats
		if shared {
			pool = l.db
		}
		if err = l.inPostgresTx(ctx, pool, fn); err != nil {
			l.beatShared.Store(!shared)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("write heartbeat: %w", err)
	}
	return beat, nil
}

// beat moves a worker's count of beats on.
func (t *tx) beat(ctx context.Context, worker postledger.ID, last Counts) (int64, error) {
	now, err := t.nowMicros(ctx)
	if err != nil {
		return 0, err
	}
	var beat int64
	err = t.row(ctx, []any{&beat}, `UPDATE workers AS w SET beat = beat + 1, beat_at = ?
		WHERE w.id = ? AND w.ended_at IS NULL AND w.beat >= ? AND `+settlesOf+` >= ? RETURNING beat`,
		now, worker, last.Beats, last.Settles)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrWorkerUnknown
	}
	return beat, err
}

// EndWorker marks a worker as ended, once it holds no lease.
func (l *Ledger) EndWorker(ctx context.Context, worker postledger.ID) error {
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		now, err := t.nowMicros(ctx)
		if err != nil {
			return err
		}
		// The lock first, in a statement of its own: a lease whose COMMIT is
		// under way holds it, and one statement would wait for that and then
		// judge by what it saw before. The lease would be nobody's to recover.
		var one int
		err = t.row(ctx, []any{&one}, `SELECT 1 FROM workers WHERE id = ? AND ended_at IS NULL`+t.forUpdate(), worker)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, `UPDATE workers SET ended_at = ? WHERE id = ? AND ended_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.lease_worker = workers.id)`, now, worker)
		return err
	})
	if err != nil {
		return fmt.Errorf("end worker: %w", err)
	}
	return nil
}

// Workers lists the workers that have not ended.
func (l *Ledger) Workers(ctx context.Context) ([]Worker, error) {
	var out []Worker
	err := l.read().each(ctx, func(rows *sql.Rows) error {
		var w Worker
		err := scanWorker(rows, &w)
		out = append(out, w)
		return err
	}, workerColumns+`WHERE w.ended_at IS NULL ORDER BY w.id LIMIT 1000`)
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	return out, nil
}

// WorkerByID reads one worker, ended or not.
func (l *Ledger) WorkerByID(ctx context.Context, id postledger.ID) (Worker, bool, error) {
	var w Worker
	found := false
	err := l.read().each(ctx, func(rows *sql.Rows) error {
		found = true
		return scanWorker(rows, &w)
	}, workerColumns+`WHERE w.id = ?`, id)
	if err != nil {
		return w, false, fmt.Errorf("read worker: %w", err)
	}
	return w, found, nil
}

// settlesOf is what worker w has counted of settles; a worker of a binary that
// does not know of it has none.
const settlesOf = `coalesce((SELECT s.settles FROM worker_settles s WHERE s.worker_id = w.id), 0)`

const countColumns = `w.beat, ` + settlesOf

const workerColumns = `SELECT w.id, w.host, w.boot_id, w.pid, w.version, w.started_at, w.beat_at, w.ended_at, ` + countColumns + ` FROM workers w `

func scanWorker(rows *sql.Rows, w *Worker) error {
	return rows.Scan(&w.ID, &w.Host, &w.BootID, &w.PID, &w.Version, timeColumn{&w.StartedAt}, timeColumn{&w.BeatAt}, timeColumn{&w.EndedAt}, &w.Beats, &w.Settles)
}
