package testserver

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The files through which processes share one server. Lock files are never
// removed, or two processes could hold a lock of the same name.
//
//	start.lock  exclusive while a process looks for the server or starts it
//	users.lock  shared by every test that uses the server; the watcher takes it
//	            exclusively to stop the server, so never under a test
//	watch.lock  exclusive for the life of the watcher: tells it from a stale pid
//	state.json  the cluster, written when the server has answered
func startLock(dir string) string { return filepath.Join(dir, "start.lock") }
func usersLock(dir string) string { return filepath.Join(dir, "users.lock") }
func watchLock(dir string) string { return filepath.Join(dir, "watch.lock") }
func stateFile(dir string) string { return filepath.Join(dir, "state.json") }
func watchPID(dir string) string  { return filepath.Join(dir, "watch.pid") }

const (
	// idleSeconds is how long the server stays up without a user: longer than
	// the gaps in which go test compiles the next package.
	idleSeconds = 60
	// answerPatience is when a server that runs is taken for hung. A loaded
	// machine answers late; a server replaced wrongly breaks the tests on it.
	answerPatience = 20 * time.Second
)

//go:embed watch.sh
var watchScript string

// sharedCluster finds the shared server or starts it, and keeps it in use until
// the test has ended.
func sharedCluster(tb testing.TB) cluster {
	tb.Helper()
	dir := sharedDir(tb)
	programs := needPostgres(tb)
	start, err := acquireLock(startLock(dir), syscall.LOCK_EX, lockTimeout)
	if err != nil {
		tb.Fatalf("use the shared test server: %v", err)
	}
	defer start.release()
	// From here on the watcher does not stop the server; if it was about to,
	// this waited until it was done.
	useSharedDir(tb, dir)

	if c, ok := runningCluster(tb, dir); ok {
		return c
	}
	removeStale(tb, programs, dir)
	c, err := startShared(tb, programs, dir)
	if err != nil {
		tb.Fatalf("start the shared PostgreSQL server: %v", err)
	}
	return c
}

func needPostgres(tb testing.TB) postgresPrograms {
	tb.Helper()
	programs, ok := findPostgres()
	if !ok {
		tb.Fatalf("PostgreSQL %d or newer is not installed: run `make deps`, or set %s", oldestPostgres, postgresURLVariable)
	}
	if os.Getuid() == 0 && !postgresUser(tb).asOther {
		tb.Fatal("PostgreSQL refuses to run as root and there is no user postgres: run `make deps`")
	}
	return programs
}

// runningCluster is the server of an earlier test or run, if its watcher lives
// and it answers.
func runningCluster(tb testing.TB, dir string) (cluster, bool) {
	tb.Helper()
	if !watched(tb, dir) {
		return cluster{}, false
	}
	var c cluster
	data, err := os.ReadFile(stateFile(dir))
	if err != nil || json.Unmarshal(data, &c) != nil {
		return cluster{}, false
	}
	return c, c.answers(answerPatience)
}

func watched(tb testing.TB, dir string) bool {
	tb.Helper()
	lock, err := tryLock(watchLock(dir), syscall.LOCK_EX)
	if err != nil {
		tb.Fatalf("look for the shared test server: %v", err)
	}
	if lock == nil {
		return true
	}
	lock.release()
	return false
}

// removeStale ends what is left of a server that cannot be used, as far as that
// is possible; a new one uses neither its port nor its directory.
func removeStale(tb testing.TB, programs postgresPrograms, dir string) {
	tb.Helper()
	if watched(tb, dir) {
		if data, err := os.ReadFile(watchPID(dir)); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	owner := postgresUser(tb)
	stale, _ := filepath.Glob(filepath.Join(dir, "shared-*")) // the pattern is valid
	for _, data := range stale {
		_ = owner.command(dir, programs.path("pg_ctl"), "-D", data, "-m", "immediate", "-t", "10", "stop").Run()
		if err := os.RemoveAll(data); err != nil {
			tb.Logf("remove a stale data directory: %v", err)
		}
	}
	if err := os.Remove(stateFile(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		tb.Fatalf("forget a stale server: %v", err)
	}
}

// startShared starts the watcher in a session of its own, so that it outlives
// this test binary, and the server under it.
func startShared(tb testing.TB, programs postgresPrograms, dir string) (cluster, error) {
	tb.Helper()
	owner := postgresUser(tb)
	c, err := initCluster(programs, owner, dir, "shared-"+randomHex(6), reservePort(tb))
	if err != nil {
		return c, err
	}
	for _, path := range []string{usersLock(dir), watchLock(dir)} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return c, fmt.Errorf("create lock file: %w", err)
		}
	}
	log, err := os.Create(filepath.Join(dir, "shared.log"))
	if err != nil {
		return c, fmt.Errorf("create log: %w", err)
	}
	defer log.Close()

	args := append([]string{"-c", watchScript, "watch.sh", dir, c.Data, strconv.Itoa(idleSeconds), programs.path("postgres")}, c.serverArgs()...)
	watcher := owner.command(dir, "/bin/sh", args...)
	if watcher.SysProcAttr == nil {
		watcher.SysProcAttr = &syscall.SysProcAttr{}
	}
	watcher.SysProcAttr.Setsid = true
	watcher.Stdout, watcher.Stderr = log, log
	if err := watcher.Start(); err != nil {
		return c, fmt.Errorf("start its watcher: %w", err)
	}
	pid := watcher.Process.Pid
	if err := os.WriteFile(watchPID(dir), []byte(strconv.Itoa(pid)), 0o600); err != nil {
		return c, fmt.Errorf("write the watcher's process id: %w", err)
	}
	if err := awaitShared(c, pid); err != nil {
		return c, fmt.Errorf("%w\n%s", err, tail(log.Name()))
	}
	if err := c.createRole(); err != nil {
		return c, err
	}
	return c, saveState(dir, c)
}

// awaitShared waits for the first answer, or for the watcher's end: it ends with
// its server.
func awaitShared(c cluster, watcher int) error {
	deadline := time.Now().Add(startTimeout)
	for !c.ready() {
		var status syscall.WaitStatus
		if pid, err := syscall.Wait4(watcher, &status, syscall.WNOHANG, nil); err != nil || pid == watcher {
			return errors.New("the server exited before it was ready")
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer within %v", startTimeout)
		}
		time.Sleep(pollInterval)
	}
	return nil
}

func saveState(dir string, c cluster) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode the server's state: %w", err)
	}
	fresh := stateFile(dir) + ".new"
	if err := os.WriteFile(fresh, data, 0o600); err != nil {
		return fmt.Errorf("write the server's state: %w", err)
	}
	if err := os.Rename(fresh, stateFile(dir)); err != nil {
		return fmt.Errorf("publish the server's state: %w", err)
	}
	return nil
}
