package testserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
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

// A killed server's processes are gone when Kill returns: one that is still attached
// to the shared memory makes the next start fail.
func TestPrivatePostgresStartsRightAfterKill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := testserver.PrivatePostgres(t, "shared_buffers=32MB")
	for range 2 {
		for range 20 {
			conn := connect(t, server.AdminURL())
			// Touches memory, which the kernel has to take back.
			if _, err := conn.Exec(ctx, "SELECT count(*), sum(length(prosrc)) FROM pg_proc, generate_series(1, 5)"); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := connect(t, server.AdminURL()).Query(ctx, "SELECT pid FROM pg_stat_activity")
		if err != nil {
			t.Fatal(err)
		}
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil || len(pids) < 20 {
			t.Fatalf("%d processes (%v)", len(pids), err)
		}
		server.Kill()
		for _, pid := range pids {
			// A dead one that nobody has reaped yet has no memory any more.
			if memory, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)); err == nil && !bytes.HasPrefix(memory, []byte("0 ")) {
				t.Errorf("process %d goes on after Kill, with %s pages", pid, memory)
			}
		}
		server.Start()
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
