package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/outboxtest"
	"github.com/postledger/postledger/jobs/pgbox"
	"github.com/postledger/postledger/jobs/sqlitebox"
)

// outboxOf is the job queue's way to a ledger.
func outboxOf(t *testing.T, l *ledger.Ledger) jobs.Outbox {
	t.Helper()
	if l.SQLite() {
		return sqlitebox.NewWith(l.Readers(), func(ctx context.Context, body func(context.Context, sqlitebox.Querier) error) error {
			return l.WriteBeside(ctx, func(ctx context.Context, q ledger.Querier) error { return body(ctx, q) })
		})
	}
	pool := l.PoolBeside(5)
	t.Cleanup(func() { pool.Close() })
	return pgbox.New(pool)
}

// The queue's own suite, on the tables that the ledger makes and by the ledger's
// way to write.
func TestTheLedgerIsAnOutbox(t *testing.T) {
	t.Parallel()
	suite(t, "sqlite")
}

// On PostgreSQL the way is the queue's own, which passes the suite beside it; here
// are the ledger's settings, which forbid sequential scans.
func TestTheLedgerIsAnOutboxLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	t.Parallel()
	suite(t, "postgres")
}

func suite(t *testing.T, database string) {
	outboxtest.Run(t, func(t *testing.T) outboxtest.Store {
		l, db := jobLedgers[database](t)
		return outboxtest.Store{Outbox: outboxOf(t, l), Begin: func(t *testing.T) outboxtest.Tx {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			return outboxtest.Tx{Tx: jobs.SQLTx(tx), Commit: tx.Commit, Rollback: tx.Rollback}
		}}
	})
}

// jobLedgers are an empty ledger and another program's connection to it.
var jobLedgers = map[string]func(t *testing.T) (*ledger.Ledger, *sql.DB){
	"sqlite": func(t *testing.T) (*ledger.Ledger, *sql.DB) {
		path := filepath.Join(t.TempDir(), "ledger.db")
		l := open(t, "sqlite://"+path)
		return l, connect(t, "sqlite", path+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	},
	"postgres": func(t *testing.T) (*ledger.Ledger, *sql.DB) {
		url := testserver.Postgres(t)
		return open(t, url), connect(t, "pgx", url)
	},
}

func connect(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// The tables that the ledger's migrations make are those that the queue's own
// would: columns, keys, indexes and settings.
func TestTheJobTablesAreTheQueuesOwn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, open := range jobLedgers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ours := open(t)
			var theirs *sql.DB
			var err error
			describe := describeSQLite
			if name == "sqlite" {
				theirs = connect(t, "sqlite", filepath.Join(t.TempDir(), "jobs.db"))
				err = sqlitebox.Migrate(ctx, theirs)
			} else {
				theirs, describe = connect(t, "pgx", testserver.Postgres(t)), describePostgres
				err = pgbox.Migrate(ctx, theirs)
			}
			if err != nil {
				t.Fatal(err)
			}
			want, got := describe(t, theirs), describe(t, ours)
			if len(want) < 30 {
				t.Fatalf("only %d lines: %q", len(want), want)
			}
			for _, line := range want {
				if !slices.Contains(got, line) {
					t.Errorf("the ledger lacks %s", line)
				}
			}
			for _, line := range got {
				if !slices.Contains(want, line) {
					t.Errorf("the queue does not have %s", line)
				}
			}
		})
	}
}

func describeSQLite(t *testing.T, db *sql.DB) []string {
	t.Helper()
	return lines(t, db, `SELECT m.name || ' ' || c.cid || ' ' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || coalesce(c.dflt_value, '') || ' ' || c.pk
			FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name LIKE 'job\_%' ESCAPE '\'
		UNION ALL SELECT name || ': ' || coalesce(sql, '') FROM sqlite_schema WHERE type = 'index' AND tbl_name LIKE 'job\_%' ESCAPE '\'
		UNION ALL SELECT name || ' counts up' FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%' AND name LIKE 'job\_%' ESCAPE '\'
		UNION ALL SELECT 'version ' || version FROM job_schema`)
}

func describePostgres(t *testing.T, db *sql.DB) []string {
	t.Helper()
	return lines(t, db, `SELECT concat_ws(' ', table_name, ordinal_position, column_name, data_type, is_nullable, column_default, collation_name, is_identity, identity_generation)
			FROM information_schema.columns WHERE table_schema = 'public' AND table_name LIKE 'job\_%'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'job\_%'
		UNION ALL SELECT relname || ' ' || reloptions::text FROM pg_class WHERE relname LIKE 'job\_%' AND reloptions IS NOT NULL
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid::regclass::text LIKE 'job\_%'
		UNION ALL SELECT 'version ' || version FROM job_schema`)
}

func lines(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// What the ledger writes of a job into its own transactions is what the queue
// writes into a caller's.
func TestTheLedgersJobsAreTheQueuesOwn(t *testing.T) {
	t.Parallel()
	for name, open := range jobLedgers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			l, db := open(t)
			box := outboxOf(t, l)
			at := time.Now().Add(time.Hour).Truncate(time.Microsecond).UTC()
			rows := []ledger.JobRow{
				{ID: l.NewID(), Handler: "a.b", Slow: true, Group: "Zürich", Payload: []byte("{\x00}"), MaxAttempts: 3, Timeout: 15 * time.Second},
				{ID: l.NewID(), Handler: "a.b", RunAt: at, MaxAttempts: 25},
			}
			if err := l.WriteJobs(ctx, append(rows, rows[0]), nil); err != nil { // one id is one job
				t.Fatal(err)
			}
			if err := l.WriteJobs(ctx, rows, nil); err != nil {
				t.Fatal(err)
			}
			if err := l.WriteJobs(ctx, []ledger.JobRow{{ID: l.NewID(), Handler: "never"}}, errUndo); !errors.Is(err, errUndo) {
				t.Fatal(err)
			}
			theirs := make([]jobs.Entry, len(rows))
			for i, r := range rows {
				theirs[i] = jobs.Entry{
					Job: jobs.Job{
						ID: jobs.ID(l.NewID()), Handler: r.Handler, Lane: jobs.Fast, Group: r.Group, Payload: r.Payload,
						RunAt: r.RunAt, MaxAttempts: r.MaxAttempts, Timeout: r.Timeout,
					},
					EnqueuedAt: time.Now(),
				}
				if r.Slow {
					theirs[i].Lane = jobs.Slow
				}
			}
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if err := box.InsertTx(ctx, jobs.SQLTx(tx), theirs); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			raw := columnsOf(t, db)
			if len(raw) != 2*len(rows) {
				t.Fatalf("%d rows, want %d", len(raw), 2*len(rows))
			}
			for i := range rows {
				mine, other := raw[i], raw[i+len(rows)]
				if mine["id"] == other["id"] || mine["place"] == other["place"] {
					t.Errorf("row %d: both are %v", i, mine["id"])
				}
				for column, value := range mine {
					switch column {
					case "id", "place":
					case "enqueued_at", "changed_at":
						us, _ := value.(int64)
						if since := time.Since(time.UnixMicro(us)); since < -time.Minute || since > time.Minute {
							t.Errorf("row %d: %s is %v", i, column, value)
						}
					default:
						if !reflect.DeepEqual(value, other[column]) {
							t.Errorf("row %d: %s is %#v, the queue writes %#v", i, column, value, other[column])
						}
					}
				}
			}
			// The queue reads what the ledger wrote.
			row, err := box.Get(ctx, jobs.ID(rows[0].ID))
			if err != nil || row.Group != "Zürich" || row.Lane != jobs.Slow || row.Timeout != 15*time.Second || !row.Durable || row.Rev != 1 {
				t.Fatalf("%+v (%v)", row, err)
			}
		})
	}
}

var errUndo = errors.New("undo it")

// columnsOf is the whole outbox, by place.
func columnsOf(t *testing.T, db *sql.DB) []map[string]any {
	t.Helper()
	rows, err := db.Query("SELECT * FROM job_outbox ORDER BY place")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := map[string]any{}
		for i, name := range names {
			if b, ok := values[i].([]byte); ok && name == "id" {
				values[i] = fmt.Sprintf("%x", b)
			}
			row[name] = values[i]
		}
		out = append(out, row)
	}
	return out
}

func TestJobsOfATransactionAreHeardOf(t *testing.T) {
	t.Parallel()
	for name, open := range jobLedgers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := open(t)
			queue := &ledgertest.HeardQueue{Epoch: "life"}
			l.SetJobQueue(queue)
			known := []ledger.JobRow{{ID: l.NewID(), Handler: "h"}}
			later := ledger.JobRow{ID: l.NewID(), Handler: "h", RunAt: time.Now().Add(time.Hour)}
			for _, c := range []struct {
				name string
				rows []ledger.JobRow
				fail error
				want int
			}{
				{"nothing", nil, nil, 0},
				{"undone", []ledger.JobRow{{ID: l.NewID(), Handler: "h"}}, errUndo, 0},
				{"a job", known, nil, 1},
				{"a job that is there", known, nil, 0},
				{"one that is there, one of now and one for later", append(known, ledger.JobRow{ID: l.NewID(), Handler: "h", Slow: true}, later), nil, 2},
			} {
				queue.Written = nil
				if err := l.WriteJobs(t.Context(), c.rows, c.fail); !errors.Is(err, c.fail) {
					t.Fatal(err)
				}
				if len(queue.Written) != c.want {
					t.Errorf("%s: the queue heard of %+v", c.name, queue.Written)
				}
				for _, r := range queue.Written {
					row, err := outboxOf(t, l).Get(t.Context(), jobs.ID(r.ID))
					if err != nil || row.Epoch != r.Epoch || !row.EnqueuedAt.Equal(r.EnqueuedAt) || row.EnqueuedAt.IsZero() {
						t.Errorf("%s: the queue heard of %+v, and the row is %+v (%v)", c.name, r, row, err)
					}
					if want := r.RunAt.IsZero(); (row.State == jobs.Admitted) != want || (r.Epoch == "life") != want {
						t.Errorf("%s: %+v", c.name, row)
					}
				}
			}
			if queue.Doubtful != nil {
				t.Errorf("the queue is not sure of %+v", queue.Doubtful)
			}
		})
	}
}

// The tables are not dropped while jobs are in them.
func TestMigrateDownKeepsJobs(t *testing.T) {
	t.Parallel()
	for name, open := range jobLedgers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			l, db := open(t)
			if err := l.WriteJobs(ctx, []ledger.JobRow{{ID: l.NewID(), Handler: "h"}}, nil); err != nil {
				t.Fatal(err)
			}
			down := func() (err error) {
				for err == nil {
					if _, lost := db.Exec("SELECT count(*) FROM job_outbox"); lost != nil {
						return nil
					}
					err = l.MigrateDown(ctx)
				}
				return err
			}
			if err := down(); err == nil || !strings.Contains(err.Error(), "job_outbox") {
				t.Fatalf("with a job: %v", err)
			}
			if _, err := db.Exec("DELETE FROM job_outbox"); err != nil {
				t.Fatal(err)
			}
			if err := down(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The queue's connections are as its outbox asks, whichever of the pool it gets.
func TestConnectionsBesideLockInOrder(t *testing.T) {
	t.Parallel()
	const connections = 3
	pool := open(t, testserver.Postgres(t)).PoolBeside(connections)
	defer pool.Close()
	for range connections {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, name := range []string{"enable_bitmapscan", "enable_seqscan"} {
			var is string
			if err := conn.QueryRowContext(t.Context(), "SHOW "+name).Scan(&is); err != nil || is != "off" {
				t.Errorf("%s is %q (%v)", name, is, err)
			}
		}
	}
}
