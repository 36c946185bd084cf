package crashtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// freeze stops a process and waits until nothing of it runs.
func freeze(tb testing.TB, p Process) {
	tb.Helper()
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		tb.Fatalf("stop process %d: %v", p.PID(), err)
	}
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !Stopped(p.PID()) {
		select {
		case <-p.Dead():
			tb.Fatalf("process %d has ended by itself", p.PID())
		case <-poll.C:
		}
	}
}

func thaw(tb testing.TB, p Process) {
	tb.Helper()
	if err := syscall.Kill(p.PID(), syscall.SIGCONT); err != nil {
		tb.Fatalf("continue process %d: %v", p.PID(), err)
	}
}

// Stopped says whether every thread of a process is stopped by a signal.
func Stopped(pid int) bool {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(tasks) == 0 {
		return false
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(task)
		// pid (name) state …
		at := strings.LastIndexByte(string(stat), ')')
		if err != nil || at < 0 || !strings.HasPrefix(string(stat[at+1:]), " T") {
			return false
		}
	}
	return true
}

// holds says whether a process has a journal in its memory: it is its own. The
// kernel may know it by the name it had while it was made, which begins the same.
func holds(tb testing.TB, p Process, journal string) bool {
	tb.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID()))
	if err != nil {
		tb.Fatalf("read what a process has in memory: %v", err)
	}
	return strings.Contains(string(maps), "/"+filepath.Base(journal))
}
