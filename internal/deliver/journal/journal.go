package journal

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Journal is the journal of this process. Its methods are safe for concurrent
// use; one slot is used by one goroutine at a time.
type Journal struct {
	file *os.File
	data []byte
	path string

	broken atomic.Bool
	closed atomic.Bool // set under mu

	mu sync.Mutex
	// free is a stack: the slot freed last is taken next, so a quiet worker
	// keeps touching the same few pages. It holds at most one entry a slot.
	free []uint32
	// turn counts how often a slot was taken, to unmask a handle kept too long.
	turn []atomic.Uint32
}

// Create makes the journal of a process that starts, locks it and keeps it
// locked until Close, Abandon or the end of the process. Slots must cover
// every envelope between Begun and the commit of its settle.
func Create(dir string, owner Owner, slots int) (*Journal, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	return create(dir, Header{Owner: owner, Boot: boot, Slots: slots})
}

func create(dir string, h Header) (*Journal, error) {
	switch {
	case h.Ledger.IsZero():
		return nil, fmt.Errorf("create journal: ledger id is zero")
	case h.Worker.IsZero():
		return nil, fmt.Errorf("create journal: worker id is zero")
	case h.Slots < 1 || h.Slots > MaxSlots:
		return nil, fmt.Errorf("create journal: %d slots (want 1 to %d)", h.Slots, MaxSlots)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	if err := sweepUnfinished(dir); err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	final := path(dir, h.Worker)
	unfinished := strings.TrimSuffix(final, suffix) + unfinishedSuffix
	f, err := os.OpenFile(unfinished, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	j, err := build(f, h, final)
	if err != nil {
		_ = f.Close()
		_ = os.Remove(unfinished)
		return nil, fmt.Errorf("create journal: %w", err)
	}
	return j, nil
}

// build turns an empty file into a journal. The file is locked before it has a
// size and complete before it gets its final name.
func build(f *os.File, h Header, final string) (*Journal, error) {
	if err := flock(f); err != nil {
		return nil, err
	}
	if err := allocate(f, fileSize(h.Slots)); err != nil {
		return nil, err
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(fileSize(h.Slots)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	encodeHeader(data, h)
	// A link, unlike a rename, refuses to replace the journal of another.
	if err := os.Link(f.Name(), final); err != nil {
		_ = unix.Munmap(data)
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = unix.Munmap(data)
		_ = os.Remove(final)
		return nil, err
	}
	j := &Journal{
		file: f, data: data, path: final,
		free: make([]uint32, h.Slots),
		turn: make([]atomic.Uint32, h.Slots),
	}
	for i := range j.free {
		j.free[i] = uint32(h.Slots - 1 - i)
	}
	return j, nil
}

// Path is where the file lies.
func (j *Journal) Path() string { return j.path }

// Taken is the number of slots in use.
func (j *Journal) Taken() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.turn) - len(j.free)
}

// SetBeat records the last heartbeat that is known to have committed.
func (j *Journal) SetBeat(beat uint64) error { return j.setCount(headBeat, beat) }

// SetSettles records the last settle that is known to have committed.
func (j *Journal) SetSettles(settles uint64) error { return j.setCount(headSettles, settles) }

func (j *Journal) setCount(at int, n uint64) (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed.Load() {
		return ErrClosed
	}
	defer j.fault(catchFaults(), &err)
	word64(j.data, at).Store(n)
	return nil
}

// Close ends a journal with no slot taken, marks it as stopped cleanly and
// leaves the file, whose heartbeat the next start compares with the ledger.
// With slots taken it does nothing and reports ErrInUse: the file then stays
// locked until the process ends, and says what it would say after a crash.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed.Load():
		return ErrClosed
	case len(j.free) < len(j.turn):
		return ErrInUse
	}
	j.closed.Store(true)
	err := j.markClean()
	if e := unix.Munmap(j.data); err == nil && e != nil {
		err = fmt.Errorf("close journal: %w", e)
	}
	if e := j.file.Close(); err == nil && e != nil {
		err = fmt.Errorf("close journal: %w", e)
	}
	return err
}

func (j *Journal) markClean() (err error) {
	defer j.fault(catchFaults(), &err)
	word32(j.data, headClean).Store(1)
	return nil
}

// Abandon lets go of the lock and leaves the slots as they are, as the end of
// the process would; the caller vouches that it transmits nothing any more.
// The mapping stays until the process ends, so a straggler cannot fault.
func (j *Journal) Abandon() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed.Load() {
		return ErrClosed
	}
	j.closed.Store(true)
	// The mapping keeps the opened file alive, and with it the lock.
	err := unix.Flock(int(j.file.Fd()), unix.LOCK_UN)
	if e := j.file.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("abandon journal: %w", err)
	}
	return nil
}
