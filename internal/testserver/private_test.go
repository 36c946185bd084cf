package testserver_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger/internal/testserver"
)

func TestPrivatePostgresStopsStartsAndFreezes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := testserver.PrivatePostgres(t, "work_mem=5MB")
	conn := connect(t, server.URL())
	var workMem string
	if err := conn.QueryRow(ctx, "SHOW work_mem").Scan(&workMem); err != nil || workMem != "5MB" {
		t.Errorf("work_mem is %q (%v), want the setting that was given", workMem, err)
	}
	if _, err := conn.Exec(ctx, "CREATE TABLE kept (n int)"); err != nil {
		t.Fatal(err)
	}
	insert(t, conn, 1)

	server.Pause()
	frozen, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(frozen, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a frozen server answered: %v", err)
	}
	server.Resume()
	conn = connect(t, server.URL())
	insert(t, conn, 2)

	// What was committed survives a crash of the server.
	server.Stop(testserver.StopImmediate)
	if _, err := conn.Exec(ctx, "SELECT 1"); err == nil {
		t.Error("a connection survived the server")
	}
	if _, err := pgx.Connect(ctx, server.URL()); err == nil {
		t.Error("a stopped server accepted a connection")
	}
	server.Start()
	conn = connect(t, server.URL())
	insert(t, conn, 3)
	server.Stop(testserver.StopFast)
	server.Start()
	var rows int
	if err := connect(t, server.URL()).QueryRow(ctx, "SELECT count(*) FROM kept").Scan(&rows); err != nil || rows != 3 {
		t.Errorf("%d rows (%v), want all 3 that were committed", rows, err)
	}

	admin := connect(t, server.AdminURL())
	if _, err := admin.Exec(ctx, "CHECKPOINT"); err != nil {
		t.Errorf("the admin URL has no superuser's rights: %v", err)
	}
}

func TestPrivatePostgresBehindAProxyLosesACommitReply(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := testserver.PrivatePostgres(t)
	direct := connect(t, server.URL())
	if _, err := direct.Exec(ctx, "CREATE TABLE kept (n int)"); err != nil {
		t.Fatal(err)
	}

	proxy := testserver.Proxy(t, server.Addr())
	config, err := pgx.ParseConfig(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxied := dial(t, proxy.Addr())
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) { return proxied, nil }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "INSERT INTO kept VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	proxy.CutAfterBytes(testserver.ToClient, 0)
	if err := tx.Commit(ctx); err == nil {
		t.Fatal("the commit's reply arrived through the cut")
	}
	var rows int
	if err := direct.QueryRow(ctx, "SELECT count(*) FROM kept").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d rows (%v): the commit itself must have happened", rows, err)
	}
}

func insert(t *testing.T, conn *pgx.Conn, n int) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), "INSERT INTO kept VALUES ($1)", n); err != nil {
		t.Fatal(err)
	}
}
