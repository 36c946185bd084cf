package testserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endByPIDFile kills the server that wrote the file, if it still runs: the id
// may be another process's by now, so the directory must be in its command line.
func endByPIDFile(path, dir string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 1 || !runsIn(pid, dir) {
		return
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	for deadline := time.Now().Add(lockTimeout); runsIn(pid, dir) && time.Now().Before(deadline); {
		time.Sleep(pollInterval)
	}
}

func runsIn(pid int, dir string) bool {
	arguments, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && bytes.Contains(arguments, []byte(dir))
}

func removeAll(paths ...string) error {
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove: %w", err)
		}
	}
	return nil
}

// emptyDir removes what is in a directory and keeps the directory.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	for _, entry := range entries {
		if err := removeAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
