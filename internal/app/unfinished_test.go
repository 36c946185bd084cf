package app_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/postledger/postledger/internal/app"

	_ "modernc.org/sqlite"
)

// What a killed backup left goes with the next one; what a running one makes, what
// is fresh and what has another name stays.
func TestABackupRemovesWhatKilledOnesLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE t (n)"); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	old := time.Now().Add(-time.Hour)
	file := func(name string, at time.Time) string {
		p := filepath.Join(out, name)
		if err := errors.Join(os.WriteFile(p, []byte("half"), 0o600), os.Chtimes(p, at, at)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	left := file(".postledger-backup-1", old)
	fresh := file(".postledger-backup-2", time.Now())
	running := file(".postledger-backup-3", old)
	other := file("postledger-backup-4", old)
	f, err := os.OpenFile(running, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(out, ".postledger-backup-5")
	if err := os.Symlink(other, linked); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(out, "copy.db")
	if err := app.BackupSQLite(t.Context(), path, made); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed backup left is still there: %v", err)
	}
	for _, p := range []string{fresh, running, other, linked, made} {
		if _, err := os.Lstat(p); err != nil {
			t.Errorf("%s: %v", filepath.Base(p), err)
		}
	}
	if names, err := os.ReadDir(out); err != nil || len(names) != 5 {
		t.Errorf("beside the copy there are %v, %v", names, err)
	}
}
