package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// flock takes the exclusive lock of an open file or reports ErrAlive. The lock
// belongs to this opening of the file: the kernel drops it when the process
// ends, however it ends, and a second opening in the same process is refused.
func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrAlive
		case !errors.Is(err, unix.EINTR):
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

// allocate gives a file its size and its disk space. Without the space a
// store into the mapping would raise SIGBUS when the disk is full.
func allocate(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fallocate(int(f.Fd()), 0, 0, size)
	}
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		if err != nil {
			return fmt.Errorf("allocate %d bytes: %w", size, err)
		}
		return nil
	}
	return writeZeros(f, size)
}

// writeZeros gets the disk space on file systems without fallocate.
func writeZeros(f *os.File, size int64) error {
	zero := make([]byte, 1<<16)
	for at := int64(0); at < size; at += int64(len(zero)) {
		if _, err := f.WriteAt(zero[:min(int64(len(zero)), size-at)], at); err != nil {
			return fmt.Errorf("allocate %d bytes: %w", size, err)
		}
	}
	return nil
}

// sweepUnfinished removes what a process killed inside Create left behind. Its
// owner locks such a file before it gives it a size, so one that has a size
// and no lock has no owner. An empty one is left: it may be a moment old.
func sweepUnfinished(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), unfinishedSuffix) {
			continue
		}
		name := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if st, err := f.Stat(); err == nil && st.Size() > 0 && flock(f) == nil {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
	return nil
}

// word32 is an aligned word of the mapping. A store to it is ordered after all
// stores before it in the program, which is all that a reader of a dead
// process's memory needs.
func word32(b []byte, at int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&b[at]))
}

func word64(b []byte, at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&b[at]))
}

// catchFaults makes a fault of this goroutine a panic that can be recovered.
func catchFaults() bool { return debug.SetPanicOnFault(true) }

// fault is deferred around every store into the mapping: a page that cannot be
// written makes the journal broken for good instead of ending the process.
func (j *Journal) fault(before bool, err *error) {
	debug.SetPanicOnFault(before)
	cause := recover()
	if cause == nil {
		return
	}
	// Only a fault at an address has one; every other panic is a bug.
	if _, ok := cause.(interface{ Addr() uintptr }); !ok {
		panic(cause)
	}
	j.broken.Store(true)
	*err = ErrBroken
}
