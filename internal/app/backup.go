package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// BackupSQLite makes a consistent copy of the ledger at path while it is
// served. The copy has its name only when it is whole and on the disk; one
// that exists is not replaced.
func BackupSQLite(ctx context.Context, path, out string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("open %s: %w", path, ErrNoLedger)
	}
	if _, err := os.Lstat(out); err == nil {
		return fmt.Errorf("write %s: %w", out, os.ErrExist)
	}
	if err := sweepUnfinished(filepath.Dir(out), time.Now()); err != nil {
		return fmt.Errorf("remove unfinished backups beside %s: %w", out, err)
	}
	tmp, err := createUnfinished(filepath.Dir(out))
	if err != nil {
		return fmt.Errorf("write %s: %w", out, err)
	}
	defer func() { err = errors.Join(err, tmp.Close(), ignoreMissing(os.Remove(tmp.Name()))) }()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", tmp.Name()); err != nil {
		return fmt.Errorf("copy %s: %w", path, err)
	}
	if err := tmp.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", out, err)
	}
	if err := os.Link(tmp.Name(), out); err != nil {
		return fmt.Errorf("write %s: %w", out, err)
	}
	dir, err := os.Open(filepath.Dir(out))
	if err != nil {
		return fmt.Errorf("sync directory of %s: %w", out, err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
