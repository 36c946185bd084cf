package ledger

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrForeignLog: a backup lies beside the write-ahead log of the ledger whose
// place it took.
var ErrForeignLog = errors.New("it is a backup, and the -wal file beside it belongs to the ledger that was there before: remove that and the -shm file")

// refuseForeignLog keeps SQLite from replaying one ledger's log over another's
// pages, which it does without a word: a log knows nothing of its database. Our
// ledgers are in WAL mode from their first page on, and what VACUUM INTO wrote
// is not until it was first opened. So that mode and a log together mean that the
// log, which a kill left behind, is another's. Nothing has been written then.
func refuseForeignLog(path string) error {
	log, err := os.Stat(path + "-wal")
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at the log: %w", err)
	case log.Size() == 0:
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // SQLite removes a log without a database
	}
	if err != nil {
		return err
	}
	defer f.Close()
	// The version a writer must know: 1 is the rollback journal, 2 is WAL.
	var version [1]byte
	switch _, err := f.ReadAt(version[:], 18); {
	case errors.Is(err, io.EOF):
		return nil // an empty database, which SQLite begins anew
	case err != nil:
		return fmt.Errorf("read the header: %w", err)
	case version[0] == 1:
		return ErrForeignLog
	}
	return nil
}
