package sqlitebox_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/outboxtest"
	"github.com/postledger/postledger/jobs/sqlitebox"
)

func TestOutbox(t *testing.T) {
	t.Parallel()
	for name, parameters := range map[string]string{
		"as advised":          "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)",
		"immediate, one pool": "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outboxtest.Run(t, func(t *testing.T) outboxtest.Store {
				db := open(t, filepath.Join(t.TempDir(), "jobs.db")+parameters)
				if name != "as advised" {
					db.SetMaxOpenConns(1)
				}
				migrate(t, db)
				return outboxtest.Store{Outbox: sqlitebox.New(db), Begin: func(t *testing.T) outboxtest.Tx {
					tx, err := db.Begin()
					if err != nil {
						t.Fatal(err)
					}
					return outboxtest.Tx{Tx: jobs.SQLTx(tx), Commit: tx.Commit, Rollback: tx.Rollback}
				}}
			})
		})
	}
}

// Processes that start together, each with a pool of its own.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)"
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() { migrate(t, open(t, path)) })
	}
	wg.Wait()
}

func migrate(t *testing.T, db *sql.DB) {
	t.Helper()
	if err := sqlitebox.Migrate(context.Background(), db); err != nil {
		t.Error(err)
	}
}

func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
