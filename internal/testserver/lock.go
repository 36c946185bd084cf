package testserver

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	pollInterval = 3 * time.Millisecond
	// lockTimeout bounds the wait for another process that starts or stops the
	// shared server, which takes seconds on a busy machine.
	lockTimeout = 2 * time.Minute
)

// fileLock is an advisory lock that the kernel releases when its holder dies,
// however that happens.
type fileLock struct{ file *os.File }

// acquireLock takes the lock how (LOCK_SH or LOCK_EX) within the timeout.
func acquireLock(path string, how int, timeout time.Duration) (*fileLock, error) {
	deadline := time.Now().Add(timeout)
	for {
		lock, err := tryLock(path, how)
		if err != nil || lock != nil {
			return lock, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("lock %s: held by another process for %v", path, timeout)
		}
		time.Sleep(pollInterval)
	}
}

// tryLock returns nil without an error when the lock is held by another.
func tryLock(path string, how int) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for {
		err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return &fileLock{file: file}, nil
	}
	file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

func (l *fileLock) release() { l.file.Close() }
