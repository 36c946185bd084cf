package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/postledger/postledger/internal/ledger"
)

// Lock is a process's claim on an embedded ledger.
type Lock struct{ file *os.File }

// LockSQLite claims the ledger at path, or fails with ledger.ErrInUse. The
// file stays when the lock is freed: removing it could let two processes lock
// two files of one name.
func LockSQLite(path string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the ledger's directory: %w", err)
	}
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, ledger.ErrInUse)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{f}, nil
}

// Release frees the ledger.
func (l *Lock) Release() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
