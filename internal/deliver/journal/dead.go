package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/postledger/postledger"
)

// Record is one taken slot of a dead process.
type Record struct {
	Envelope postledger.ID
	Members  []Member
	// Answered says that the next hop's answer is known.
	Answered bool
	// Outcomes has one outcome a member. While the envelope was only begun it
	// says what was known by then, OutcomeUnknown of those in doubt, and is
	// nil when all were.
	Outcomes []postledger.Outcome
}

// Dead is the journal of a process that is proven dead, locked so that only
// one process recovers it. It is read once, when it is opened.
type Dead struct {
	file    *os.File
	path    string
	header  Header
	records []Record
}

// Open takes over the journal of a dead process. ErrAlive, ErrOtherBoot and
// ErrCorrupt say why it proves nothing; fs.ErrNotExist says that it is gone,
// also when another process recovered it just now.
func Open(path string) (*Dead, error) {
	boot, err := bootID()
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	f, err := lockExisting(path)
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	d := &Dead{file: f, path: path}
	if err := d.read(boot); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	return d, nil
}

// Discard removes a journal that proves nothing (ErrOtherBoot, ErrCorrupt), once
// the leases of its worker have been settled without it.
func Discard(path string) error {
	f, err := lockExisting(path)
	if err != nil {
		return fmt.Errorf("discard journal %s: %w", path, err)
	}
	return (&Dead{file: f, path: path}).Remove()
}

// Header is what the journal says about itself.
func (d *Dead) Header() Header { return d.header }

// Records are the begun and answered records, in no order.
func (d *Dead) Records() []Record { return d.records }

// Remove deletes the file and lets go of it, once every record is settled in
// the ledger.
func (d *Dead) Remove() error {
	// Removed while locked: who waits for the lock finds a file without a name.
	if err := os.Remove(d.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = d.file.Close()
		return fmt.Errorf("remove journal: %w", err)
	}
	return d.Close()
}

// Close lets go of the file and leaves it, to be opened again.
func (d *Dead) Close() error {
	if err := d.file.Close(); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// lockExisting opens and locks a file that still has a name.
func lockExisting(path string) (*os.File, error) {
	// O_NONBLOCK so that a pipe with such a name cannot hold us up.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = func() error {
		if err := flock(f); err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			return fmt.Errorf("stat: %w", err)
		}
		switch {
		case st.Mode&unix.S_IFMT != unix.S_IFREG:
			return fmt.Errorf("%w: not a regular file", ErrCorrupt)
		case st.Nlink == 0:
			return fs.ErrNotExist
		}
		return nil
	}()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// read checks the whole file and decodes its records. It reads with pread: a
// file that is cut meanwhile is an error and not a signal.
func (d *Dead) read(boot postledger.ID) error {
	h, err := readHeader(d.file)
	if err != nil {
		return err
	}
	if worker, err := workerOf(d.path); err != nil || worker != h.Worker {
		return fmt.Errorf("%w: it is the journal of worker %s", ErrCorrupt, h.Worker)
	}
	if h.Boot != boot {
		return ErrOtherBoot
	}
	d.header = h
	reasons := knownReasons()
	slot := make([]byte, slotSize)
	for i := range h.Slots {
		if _, err := d.file.ReadAt(slot, headerSize+int64(i)*slotSize); err != nil {
			return readError(err)
		}
		r, taken, err := decodeSlot(slot, reasons)
		if err != nil {
			return fmt.Errorf("%w: slot %d: %w", ErrCorrupt, i, err)
		}
		if taken {
			d.records = append(d.records, r)
		}
	}
	return nil
}

// readHeader reads and checks the header page.
func readHeader(f *os.File) (Header, error) {
	st, err := f.Stat()
	if err != nil {
		return Header{}, fmt.Errorf("stat: %w", err)
	}
	page := make([]byte, headerSize)
	if _, err := f.ReadAt(page, 0); err != nil {
		return Header{}, readError(err)
	}
	return decodeHeader(page, st.Size())
}

// readError tells a file that ends too early from a disk that cannot be read.
func readError(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the file ends too early", ErrCorrupt)
	}
	return fmt.Errorf("read: %w", err)
}
