package mysqlbox_test

import (
	"context"
	"database/sql"
	"os"
	"sync"
	"testing"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/mysqlbox"
	"github.com/postledger/postledger/jobs/outboxtest"
)

func TestOutbox(t *testing.T) {
	t.Parallel()
	outboxtest.Run(t, func(t *testing.T) outboxtest.Store { return store(t, "") })
}

// Whatever an application asks of its driver.
func TestOutboxUnderOtherParametersLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	t.Parallel()
	outboxtest.Run(t, func(t *testing.T) outboxtest.Store {
		return store(t, "?clientFoundRows=true&interpolateParams=true&parseTime=true&loc=Local&time_zone=%27%2B05%3A00%27&collation=utf8mb4_general_ci")
	})
}

func store(t *testing.T, parameters string) outboxtest.Store {
	t.Helper()
	db := open(t, parameters)
	migrate(t, db)
	return outboxtest.Store{Outbox: mysqlbox.New(db), Begin: func(t *testing.T) outboxtest.Tx {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		return outboxtest.Tx{Tx: jobs.SQLTx(tx), Commit: tx.Commit, Rollback: tx.Rollback}
	}}
}

func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	db := open(t, "")
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() { migrate(t, db) })
	}
	wg.Wait()
}

func migrate(t *testing.T, db *sql.DB) {
	t.Helper()
	if err := mysqlbox.Migrate(context.Background(), db); err != nil {
		t.Error(err)
	}
}

func open(t *testing.T, parameters string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", testserver.MariaDB(t)+parameters)
	if err != nil {
		t.Fatal(err)
	}
	// Less than the server has for all tests at once: 200, 8 for each of some 20.
	db.SetMaxOpenConns(8)
	t.Cleanup(func() { db.Close() })
	return db
}
