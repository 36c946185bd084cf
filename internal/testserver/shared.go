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
//	state.json  how to reach it, written when the server has answered
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

// sharing is how one kind of server is shared. C is what must be known to reach
// one that runs; it is kept as JSON.
type sharing[C any] struct {
	name  string // of the program, for messages
	dir   string
	owner osUser
	// create makes the data directory dir/name for a server on the port.
	create func(name string, port int) (C, error)
	// command is the server's program and its arguments.
	command func(C) []string
	// ask is the signal, by its name for kill(1), on which the server ends
	// though sessions are open.
	ask string
	// ready tells whether a server that was just started answers, answers
	// whether one that is known to run does so in time.
	ready   func(C) bool
	answers func(C, time.Duration) bool
	// prepare is run once, when the server has answered for the first time.
	prepare func(C) error
	// end ends a server that has lost its watcher, by its data directory.
	end func(data string)
}

// use finds the shared server or starts it, and keeps it in use until the test
// has ended.
func (s sharing[C]) use(tb testing.TB) C {
	tb.Helper()
	start, err := acquireLock(startLock(s.dir), syscall.LOCK_EX, lockTimeout)
	if err != nil {
		tb.Fatalf("use the shared %s server: %v", s.name, err)
	}
	defer start.release()
	// From here on the watcher does not stop the server; if it was about to,
	// this waited until it was done.
	useSharedDir(tb, s.dir)

	if c, ok := s.running(tb); ok {
		return c
	}
	s.removeStale(tb)
	c, err := s.start(tb)
	if err != nil {
		tb.Fatalf("start the shared %s server: %v", s.name, err)
	}
	return c
}

// running is the server of an earlier test or run, if its watcher lives and it
// answers.
func (s sharing[C]) running(tb testing.TB) (c C, ok bool) {
	tb.Helper()
	if !watched(tb, s.dir) {
		return c, false
	}
	data, err := os.ReadFile(stateFile(s.dir))
	if err != nil || json.Unmarshal(data, &c) != nil {
		return c, false
	}
	return c, s.answers(c, answerPatience)
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
func (s sharing[C]) removeStale(tb testing.TB) {
	tb.Helper()
	if watched(tb, s.dir) {
		if data, err := os.ReadFile(watchPID(s.dir)); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	stale, _ := filepath.Glob(filepath.Join(s.dir, "shared-*")) // the pattern is valid
	for _, data := range stale {
		s.end(data)
		if err := os.RemoveAll(data); err != nil {
			tb.Logf("remove a stale data directory: %v", err)
		}
	}
	if err := os.Remove(stateFile(s.dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		tb.Fatalf("forget a stale server: %v", err)
	}
}

// start starts the watcher in a session of its own, so that it outlives this
// test binary, and the server under it.
func (s sharing[C]) start(tb testing.TB) (C, error) {
	tb.Helper()
	name := "shared-" + randomHex(6)
	c, err := s.create(name, reservePort(tb))
	if err != nil {
		return c, err
	}
	for _, path := range []string{usersLock(s.dir), watchLock(s.dir)} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return c, fmt.Errorf("create lock file: %w", err)
		}
	}
	log, err := os.Create(filepath.Join(s.dir, "shared.log"))
	if err != nil {
		return c, fmt.Errorf("create log: %w", err)
	}
	defer log.Close()

	args := append([]string{
		"-c", watchScript, "watch.sh",
		s.dir, filepath.Join(s.dir, name), strconv.Itoa(idleSeconds), s.ask,
	}, s.command(c)...)
	watcher := s.owner.command(s.dir, "/bin/sh", args...)
	if watcher.SysProcAttr == nil {
		watcher.SysProcAttr = &syscall.SysProcAttr{}
	}
	watcher.SysProcAttr.Setsid = true
	watcher.Stdout, watcher.Stderr = log, log
	if err := watcher.Start(); err != nil {
		return c, fmt.Errorf("start its watcher: %w", err)
	}
	pid := watcher.Process.Pid
	if err := os.WriteFile(watchPID(s.dir), []byte(strconv.Itoa(pid)), 0o600); err != nil {
		return c, fmt.Errorf("write the watcher's process id: %w", err)
	}
	if err := s.await(c, pid); err != nil {
		return c, fmt.Errorf("%w\n%s", err, tail(log.Name()))
	}
	if err := s.prepare(c); err != nil {
		return c, err
	}
	return c, saveState(s.dir, c)
}

// await waits for the first answer, or for the watcher's end: it ends with its
// server.
func (s sharing[C]) await(c C, watcher int) error {
	deadline := time.Now().Add(startTimeout)
	for !s.ready(c) {
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

func saveState(dir string, state any) error {
	data, err := json.Marshal(state)
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
