package testserver_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger/internal/testserver"
)

func TestPostgresOnAServerThatIsGiven(t *testing.T) {
	given := testserver.PrivatePostgres(t)
	t.Setenv("POSTLEDGER_TEST_POSTGRES_URL", given.URL())
	url := testserver.Postgres(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	want, err := pgx.ParseConfig(given.URL())
	if err != nil {
		t.Fatal(err)
	}
	if config.Port != want.Port || config.Database == want.Database {
		t.Fatalf("got database %s on port %d, want a new one on port %d", config.Database, config.Port, want.Port)
	}
	if _, err := connect(t, url).Exec(context.Background(), "CREATE TABLE mine (n int)"); err != nil {
		t.Fatal(err)
	}
}

// A run that was killed may leave anything; the next one must work.
func TestPostgresReplacesWhatAnEarlierRunLeft(t *testing.T) {
	dir := sharedServerDir(t)
	var first, second string
	t.Run("the first run", func(t *testing.T) {
		first = portOf(t, testserver.Postgres(t))
	})
	t.Run("a second run uses its server", func(t *testing.T) {
		if again := portOf(t, testserver.Postgres(t)); again != first {
			t.Errorf("port %s, want the running server's %s", again, first)
		}
	})

	// The watcher dies and leaves a server that nobody would stop.
	killWatcher(t, dir)
	t.Run("a run after the watcher was killed", func(t *testing.T) {
		second = portOf(t, testserver.Postgres(t))
		if servers := dataDirs(t, dir); len(servers) != 1 {
			t.Errorf("data directories %q, want the new server's alone", servers)
		}
	})

	// The server dies under its watcher.
	stopWatcher(t, dir)
	t.Run("a run after the server was stopped", func(t *testing.T) {
		testserver.Postgres(t)
	})

	// Its state is not readable.
	if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("a run with a broken state file", func(t *testing.T) {
		testserver.Postgres(t)
	})
	if first == "" || second == "" {
		t.Fatal("a run got no server")
	}
	stopWatcher(t, dir)
	if servers := dataDirs(t, dir); len(servers) != 0 {
		t.Errorf("data directories %q are left after the stop", servers)
	}
}

// sharedServerDir moves the shared server of this test away from the one that
// other packages use, and tells where its files are.
func sharedServerDir(t *testing.T) string {
	t.Helper()
	// The test's own directory is closed to the user that runs PostgreSQL.
	parent, err := os.MkdirTemp("", "testserver-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", parent)
	testserver.SMTPSink(t) // makes the directory
	found, err := filepath.Glob(filepath.Join(parent, "postledger-test-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("directories of shared servers: %q, %v", found, err)
	}
	return found[0]
}

func portOf(t *testing.T, url string) string {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	connect(t, url)
	return strconv.Itoa(int(config.Port))
}

func dataDirs(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "shared-*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(found, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.IsDir()
	})
}

func watcherPID(t *testing.T, dir string) int {
	t.Helper()
	return readPID(t, filepath.Join(dir, "watch.pid"))
}

// killWatcher kills it, and waits until its lock is free: a signal is not yet an end,
// and a child that the watcher had just forked holds the lock for a moment longer.
func killWatcher(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Kill(watcherPID(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Open(filepath.Join(dir, "watch.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	timeout := time.After(time.Minute)
	for syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		select {
		case <-poll.C:
		case <-timeout:
			t.Fatal("the lock of a watcher that was killed stays taken")
		}
	}
}

// stopWatcher asks it to stop the server, as `make test` does at its end, and
// waits until it has removed the data.
func stopWatcher(t *testing.T, dir string) {
	t.Helper()
	servers := dataDirs(t, dir)
	if len(servers) != 1 {
		t.Fatalf("data directories %q, want one", servers)
	}
	if err := syscall.Kill(watcherPID(t, dir), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	timeout := time.After(time.Minute)
	for {
		if _, err := os.Stat(servers[0]); errors.Is(err, fs.ErrNotExist) {
			return
		}
		select {
		case <-poll.C:
		case <-timeout:
			t.Fatal("the server runs on after its watcher was asked to stop it")
		}
	}
}
