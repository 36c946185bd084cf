package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger"
)

// Options tune a ledger; the zero value suits a server.
type Options struct {
	// Now is SQLite's clock, and that of ids; a SteadyClock of this machine when
	// nil. PostgreSQL uses its own.
	Now func() time.Time
	// Connections bounds those to PostgreSQL (default 16): one for heartbeats
	// alone and, of four or more, one for accepts; at most half for lists and
	// books, the rest for the leaser, the settler, short reads, administration
	// and recovery.
	Connections int
	// Timeout bounds how long an accept waits for its turn, how long its
	// transaction may take, and how long a lost COMMIT is looked for (default
	// 15 s each).
	Timeout time.Duration
	Log     *slog.Logger
	// Tracer hears every statement that PostgreSQL is sent; for measurements.
	Tracer pgx.QueryTracer
}

// Ledger is an open database. Its methods may be called from any goroutine.
type Ledger struct {
	dialect dialect
	db      *sql.DB // PostgreSQL: the pool. SQLite: readers.
	beats   *sql.DB // PostgreSQL only: the heartbeat's connection
	// beatShared says that the next heartbeat goes by db: the last by beats failed,
	// and a new connection can take longer than a heartbeat may.
	beatShared atomic.Bool
	groups     *sql.DB // PostgreSQL only: the accepts' connection, or db
	writer     *writer // SQLite only: the one goroutine that writes.
	accepts    *acceptBatcher
	seen       claimsSeen // PostgreSQL only
	bodies     bodyCache
	// snapshots, on PostgreSQL, has a place for each that may be read at once: at
	// most half of the connections are taken by what people look at, and by
	// books, however slow; leases, settles and accepts have the others.
	snapshots chan struct{}
	now       func() time.Time
	ids       postledger.IDSource
	log       *slog.Logger
	timeout   time.Duration
	// writeDSN opens SQLite for writing: the writer's and the migrations'.
	writeDSN  string
	path      string                        // SQLite's file
	connect   func(connections int) *sql.DB // PostgreSQL: makes a pool
	beside    func(connections int) *sql.DB // and one for the job queue
	release   func() error
	announcer Announcer
	jobQueue  atomic.Pointer[JobQueue]
}

// DefaultTimeout is how long an accept waits for the database where nothing
// else is said.
const DefaultTimeout = 15 * time.Second

// Errors of opening a ledger.
var (
	ErrBadURL = errors.New("database must be sqlite://PATH or postgres://…")
	// ErrInUse: another process serves this SQLite file.
	ErrInUse = errors.New("the SQLite ledger is in use by another process")
)

// Open connects to the database at url: sqlite://path/to/file.db or a
// postgres:// URL. It does not migrate; see Migrate and CheckSchema.
func Open(ctx context.Context, url string, o Options) (*Ledger, error) {
	if o.Now == nil {
		o.Now = SteadyClock(time.Now)
	}
	if o.Connections == 0 {
		o.Connections = 16
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Ledger{now: o.Now, log: o.Log, timeout: o.Timeout}
	var err error
	switch {
	case strings.HasPrefix(url, "sqlite://"):
		err = l.openSQLite(ctx, strings.TrimPrefix(url, "sqlite://"))
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		err = l.openPostgres(ctx, url, o.Connections, o.Tracer)
	default:
		err = ErrBadURL
	}
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	l.accepts = newAcceptBatcher(l)
	return l, nil
}

// Close waits for writes under way and closes the database.
func (l *Ledger) Close() error {
	l.accepts.close()
	var errs []error
	if l.writer != nil {
		errs = append(errs, l.writer.close())
	}
	errs = append(errs, l.db.Close())
	for _, own := range l.alone() {
		errs = append(errs, own.Close())
	}
	if l.release != nil {
		errs = append(errs, l.release())
	}
	return errors.Join(errs...)
}

// alone are the pools beside db, of one connection each.
func (l *Ledger) alone() []*sql.DB {
	var out []*sql.DB
	if l.beats != nil {
		out = append(out, l.beats)
	}
	if l.groups != nil && l.groups != l.db {
		out = append(out, l.groups)
	}
	return out
}

// SQLite reports whether this is the embedded database.
func (l *Ledger) SQLite() bool { return l.dialect == sqlite }

// NewID makes an id for a row that is about to be written.
func (l *Ledger) NewID() postledger.ID { return l.ids.Next(l.now()) }

// Ping reports whether the database answers.
func (l *Ledger) Ping(ctx context.Context) error {
	if err := l.db.PingContext(ctx); err != nil {
		return fmt.Errorf("ping ledger: %w", err)
	}
	return nil
}

// Stats is the state of the connections, for metrics.
func (l *Ledger) Stats() sql.DBStats {
	s := l.db.Stats()
	for _, own := range l.alone() {
		b := own.Stats()
		s.MaxOpenConnections += b.MaxOpenConnections
		s.OpenConnections += b.OpenConnections
		s.InUse += b.InUse
		s.Idle += b.Idle
	}
	return s
}

// LogBytes is the size of SQLite's write-ahead log. It grows while any reader
// holds a snapshot of the time before, since what that may read must stay, and
// shrinks at the next commit after it has ended. PostgreSQL has none here.
func (l *Ledger) LogBytes() (int64, error) {
	if l.dialect != sqlite {
		return 0, nil
	}
	info, err := os.Stat(l.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look at the write-ahead log: %w", err)
	}
	return info.Size(), nil
}

// write runs fn in a transaction: on SQLite inside the writer's group commit,
// under a savepoint of its own; on PostgreSQL in one of its own, repeated
// whole when the server chose it as a deadlock's victim.
func (l *Ledger) write(ctx context.Context, fn func(context.Context, *tx) error) error {
	var last *tx // which counts its jobs also in statements that go with the commit
	queue := l.jobQueue.Load()
	kept := func(ctx context.Context, t *tx) error {
		last = t
		if queue != nil {
			t.jobs.queue = *queue
		}
		return fn(ctx, t)
	}
	var err error
	if l.writer != nil {
		err = l.writer.do(ctx, kept)
	} else {
		err = l.inPostgresTx(ctx, l.db, kept)
	}
	if last != nil {
		last.jobs.told(err)
	}
	return err
}

// read runs fn outside any transaction of its own.
func (l *Ledger) read() *tx {
	t := &tx{dialect: l.dialect, q: l.db, clock: l.now}
	if l.dialect == postgres {
		t.patience = l.patience()
	}
	return t
}

// patience bounds what a caller sets no deadline for, such as a loop that runs
// until the process stops: a connection that a network has forgotten never
// answers and never ends.
func (l *Ledger) patience() time.Duration { return 4 * l.timeout }

// Now is the clock that due times and expiry are measured by.
func (l *Ledger) Now(ctx context.Context) (time.Time, error) {
	us, err := l.read().nowMicros(ctx)
	return fromMicros(us), err
}
