package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/postledger/postledger"
)

// Entry is one journal file.
type Entry struct {
	Path string
	// Worker is the id in the file's name.
	Worker postledger.ID
	// Header is valid when Err is nil.
	Header Header
	// Err says why the header cannot be read; whose ledger the file belongs
	// to is then unknown, but its worker may be one of ours.
	Err error
}

// List finds the journals of a ledger, of living and dead processes, without
// locking any. Files whose header cannot be read are listed with their error.
// A directory that does not exist holds none.
func List(dir string, ledger postledger.ID) ([]Entry, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list journals: %w", err)
	}
	var entries []Entry
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), suffix) {
			continue
		}
		e := Entry{Path: filepath.Join(dir, file.Name())}
		if e.Worker, err = workerOf(e.Path); err != nil {
			continue // not a name that Create gives
		}
		e.Header, e.Err = peek(e.Path)
		if errors.Is(e.Err, fs.ErrNotExist) {
			continue // recovered meanwhile
		}
		if e.Err == nil && e.Header.Worker != e.Worker {
			e.Err = fmt.Errorf("%w: it is the journal of worker %s", ErrCorrupt, e.Header.Worker)
		}
		if e.Err != nil || e.Header.Ledger == ledger {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func peek(path string) (Header, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	return readHeader(f)
}
