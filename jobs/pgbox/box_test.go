package pgbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the database/sql driver "pgx"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/outboxtest"
	"github.com/postledger/postledger/jobs/pgbox"
)

func TestOutbox(t *testing.T) {
	t.Parallel()
	// A schema for each test: databases take longer to make.
	url := testserver.Postgres(t)
	var schemas atomic.Int32
	outboxtest.Run(t, func(t *testing.T) outboxtest.Store {
		schema := fmt.Sprint("s", schemas.Add(1))
		if _, err := connect(t, url).Exec("CREATE SCHEMA " + schema); err != nil {
			t.Fatal(err)
		}
		db := connect(t, url+"&search_path="+schema)
		migrate(t, db)
		return outboxtest.Store{Outbox: pgbox.New(db), Begin: func(t *testing.T) outboxtest.Tx {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			return outboxtest.Tx{Tx: jobs.SQLTx(tx), Commit: tx.Commit, Rollback: tx.Rollback}
		}}
	})
}

// pgx's own transaction is as good as database/sql's.
func TestPgxTransaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, url := open(t)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	box := pgbox.New(db)
	entries := []jobs.Entry{
		{Job: jobs.Job{ID: jobs.DeriveID(jobs.ID{}, "a"), Handler: "h", Lane: jobs.Fast}},
		{Job: jobs.Job{ID: jobs.DeriveID(jobs.ID{}, "b"), Handler: "h", Lane: jobs.Fast, DedupeKey: "k", Payload: []byte("x")}},
	}
	for _, end := range []func(pgx.Tx) error{
		func(tx pgx.Tx) error { return tx.Rollback(ctx) },
		func(tx pgx.Tx) error { return tx.Commit(ctx) },
	} {
		if rows, _, err := box.List(ctx, jobs.Query{Limit: 9}); err != nil || len(rows) != 0 {
			t.Fatalf("%d rows (%v) before the commit", len(rows), err)
		}
		tx, err := conn.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := box.InsertTx(ctx, pgbox.Tx(tx), entries); err != nil {
			t.Fatal(err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
	}
	if rows, _, err := box.List(ctx, jobs.Query{Limit: 9}); err != nil || len(rows) != 2 {
		t.Fatalf("%d rows (%v) after the commit", len(rows), err)
	}
}

func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	db := connect(t, testserver.Postgres(t))
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() { migrate(t, db) })
	}
	wg.Wait()
}

func open(t *testing.T) (*sql.DB, string) {
	t.Helper()
	url := testserver.Postgres(t)
	db := connect(t, url)
	migrate(t, db)
	return db, url
}

func migrate(t *testing.T, db *sql.DB) {
	t.Helper()
	if err := pgbox.Migrate(context.Background(), db); err != nil {
		t.Error(err)
	}
}

func connect(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
