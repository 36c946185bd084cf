package testserver_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger/internal/testserver"
)

func TestPostgresGivesEachTestItsOwnEmptyDatabase(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	first, second := testserver.Postgres(t), testserver.Postgres(t)
	if first == second {
		t.Fatal("two calls gave the same database")
	}
	a, b := connect(t, first), connect(t, second)
	if _, err := a.Exec(ctx, "CREATE TABLE mine (n int)"); err != nil {
		t.Fatalf("the role cannot create tables in its database: %v", err)
	}
	for name, conn := range map[string]*pgx.Conn{"first": a, "second": b} {
		var tables int
		err := conn.QueryRow(ctx, "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'").Scan(&tables)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]int{"first": 1, "second": 0}[name]; tables != want {
			t.Errorf("%s database has %d tables, want %d", name, tables, want)
		}
	}
}

func TestPostgresIsDurableAndUnprivileged(t *testing.T) {
	t.Parallel()
	conn := connect(t, testserver.Postgres(t))
	for setting, want := range map[string]string{
		"fsync":              "on",
		"full_page_writes":   "on",
		"synchronous_commit": "on",
		"is_superuser":       "off",
		"server_encoding":    "UTF8",
	} {
		var got string
		if err := conn.QueryRow(context.Background(), "SELECT current_setting($1)", setting).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %s, want %s", setting, got, want)
		}
	}
}

func TestPostgresDropsTheDatabaseUnderAnOpenConnection(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("user", func(t *testing.T) {
		url = testserver.Postgres(t)
		conn, err := pgx.Connect(context.Background(), url)
		if err != nil {
			t.Fatal(err)
		}
		// Left open on purpose: a forgotten connection must not keep a database.
		_ = conn
	})
	if conn, err := pgx.Connect(context.Background(), url); err == nil {
		conn.Close(context.Background())
		t.Fatal("the database outlived its test")
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}
