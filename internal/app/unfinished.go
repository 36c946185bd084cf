package app

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// unfinishedBackups are the copies that have no name yet. Who makes one holds
	// a lock on it: one that can be locked was left by a process that was killed.
	unfinishedBackups = ".postledger-backup-*"
	// unfinishedAge is how long one has not been written to before it is removed
	// all the same: versions that took no lock may run beside this one.
	unfinishedAge = 10 * time.Minute
)

// createUnfinished makes a locked, empty file. A sweep that came between the two
// steps has removed it: then another is made.
func createUnfinished(dir string) (*os.File, error) {
	for {
		// Made by us, it has mode 0600; SQLite fills an empty file.
		f, err := os.CreateTemp(dir, unfinishedBackups)
		if err != nil {
			return nil, err
		}
		locked, err := lockNamed(f)
		if err == nil && locked {
			return f, nil
		}
		if err = errors.Join(err, f.Close(), ignoreMissing(os.Remove(f.Name()))); err != nil {
			return nil, err
		}
	}
}

// lockNamed locks a file; it reports false when somebody else has it, or when it
// is not the one any more that has its name.
func lockNamed(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(f.Name())
	if err != nil {
		return false, ignoreMissing(err)
	}
	return os.SameFile(mine, named), nil
}

// sweepUnfinished removes what killed backups left in a directory.
func sweepUnfinished(dir string, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if ok, _ := filepath.Match(unfinishedBackups, e.Name()); ok && e.Type().IsRegular() { // the pattern is ours
			errs = append(errs, ignoreMissing(removeUnowned(filepath.Join(dir, e.Name()), now)))
		}
	}
	return errors.Join(errs...)
}

// removeUnowned removes the file at path unless its owner lives, or may.
func removeUnowned(path string, now time.Time) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrPermission) {
		return nil // another user's
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if unowned, err := lockNamed(f); err != nil || !unowned {
		return err
	}
	info, err := f.Stat()
	if err != nil || now.Sub(info.ModTime()) < unfinishedAge {
		return err
	}
	return os.Remove(path)
}
