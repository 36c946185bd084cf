package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"github.com/postledger/postledger"
)

// suffix ends the name of a complete journal; a file being made has another
// one, so that nobody ever reads a journal that is not locked and complete.
const (
	suffix           = ".journal"
	unfinishedSuffix = ".journal.new"
)

// Owner says whose journal it is.
type Owner struct {
	// Ledger is the id of the database whose leases the journal speaks of.
	Ledger postledger.ID
	// Worker is the id of this start of the process, never used twice.
	Worker postledger.ID
}

// Header is what a journal says about itself.
type Header struct {
	Owner
	// Boot is the kernel boot id under which it was written.
	Boot postledger.ID
	// Slots is the number of slots.
	Slots int
	// Beat is the last heartbeat the process knew to be committed; exact once
	// the process is dead.
	Beat uint64
	// Settles is the last settle, by the worker's count, the process knew to be
	// committed; exact once the process is dead.
	Settles uint64
	// Clean says that the process stopped with no slot taken.
	Clean bool
}

// path is where the journal of a worker lies.
func path(dir string, worker postledger.ID) string {
	return filepath.Join(dir, worker.String()+suffix)
}

// workerOf reads the worker's id from the name of its journal.
func workerOf(path string) (postledger.ID, error) {
	return postledger.ParseID(strings.TrimSuffix(filepath.Base(path), suffix))
}

// encodeHeader writes the fixed fields of h; the others start as zero.
func encodeHeader(b []byte, h Header) {
	copy(b[headMagic:], magic)
	binary.NativeEndian.PutUint32(b[headVersion:], version)
	binary.NativeEndian.PutUint32(b[headSlot:], slotSize)
	binary.NativeEndian.PutUint32(b[headSlots:], uint32(h.Slots))
	copy(b[headLedger:], h.Ledger[:])
	copy(b[headWorker:], h.Worker[:])
	copy(b[headBoot:], h.Boot[:])
	binary.NativeEndian.PutUint32(b[headSum:], crc32.Checksum(b[:headFixed], castagnoli))
}

// decodeHeader reads a header page and checks it against the file's size.
func decodeHeader(b []byte, size int64) (Header, error) {
	u32 := binary.NativeEndian.Uint32
	var h Header
	switch {
	case !bytes.Equal(b[headMagic:headMagic+len(magic)], []byte(magic)):
		return h, fmt.Errorf("%w: not a journal", ErrCorrupt)
	case u32(b[headVersion:]) != version || u32(b[headSlot:]) != slotSize:
		return h, fmt.Errorf("%w: written in format %d with slots of %d bytes", ErrCorrupt, u32(b[headVersion:]), u32(b[headSlot:]))
	case u32(b[headSum:]) != crc32.Checksum(b[:headFixed], castagnoli):
		return h, fmt.Errorf("%w: header checksum", ErrCorrupt)
	case u32(b[headSlots:]) < 1 || u32(b[headSlots:]) > MaxSlots:
		return h, fmt.Errorf("%w: %d slots", ErrCorrupt, u32(b[headSlots:]))
	case u32(b[headClean:]) > 1:
		return h, fmt.Errorf("%w: clean-stop flag %d", ErrCorrupt, u32(b[headClean:]))
	}
	h.Slots = int(u32(b[headSlots:]))
	h.Ledger = postledger.ID(b[headLedger:])
	h.Worker = postledger.ID(b[headWorker:])
	h.Boot = postledger.ID(b[headBoot:])
	h.Beat = binary.NativeEndian.Uint64(b[headBeat:])
	h.Settles = binary.NativeEndian.Uint64(b[headSettles:])
	h.Clean = u32(b[headClean:]) == 1
	switch {
	case h.Ledger.IsZero() || h.Worker.IsZero() || h.Boot.IsZero():
		return h, fmt.Errorf("%w: an id is zero", ErrCorrupt)
	case size != fileSize(h.Slots):
		return h, fmt.Errorf("%w: %d bytes, want %d for %d slots", ErrCorrupt, size, fileSize(h.Slots), h.Slots)
	}
	return h, nil
}

// bootID identifies the running kernel's start, the same in every container.
func bootID() (postledger.ID, error) {
	const file = "/proc/sys/kernel/random/boot_id"
	text, err := os.ReadFile(file)
	if err != nil {
		return postledger.ID{}, fmt.Errorf("read boot id: %w", err)
	}
	id, err := postledger.ParseID(strings.TrimSpace(string(text)))
	if err == nil && id.IsZero() {
		err = postledger.ErrBadID
	}
	if err != nil {
		return postledger.ID{}, fmt.Errorf("read boot id from %s: %w", file, err)
	}
	return id, nil
}
