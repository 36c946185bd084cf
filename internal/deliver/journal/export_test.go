package journal

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/postledger/postledger"
)

// CreateUnder makes a journal as another boot of the kernel would have.
func CreateUnder(dir string, owner Owner, boot postledger.ID, slots int) (*Journal, error) {
	return create(dir, Header{Owner: owner, Boot: boot, Slots: slots})
}

// HalfBegun stops between the fields of Begun and its state.
func (j *Journal) HalfBegun(envelope postledger.ID, members []Member, known []postledger.Outcome) (Slot, error) {
	s, err := j.take()
	if err == nil {
		fillBegun(j.slot(s.index), envelope, members, known)
	}
	return s, err
}

// HalfAnswered stops between the fields of Answered and its state.
func (j *Journal) HalfAnswered(s Slot, outcomes []postledger.Outcome) {
	fillAnswered(j.slot(s.index), outcomes)
}

// Break allows a test to cut the file under a living journal.
func (j *Journal) Break() error { return j.file.Truncate(headerSize) }

// WriteZeros is how space is allocated where fallocate does not exist.
var WriteZeros = writeZeros

// MaxReason is the room for a reason code.
const MaxReason = maxReason

// SlotOffset is where a slot begins in the file.
func SlotOffset(i int) int { return headerSize + i*slotSize }

// Reseal gives a file of any content the checksums, size fields and states
// that let a reader look at the rest.
func Reseal(b []byte, worker, boot postledger.ID) {
	if len(b) < headerSize {
		return
	}
	slots := (len(b) - headerSize) / slotSize
	copy(b[headMagic:], magic)
	binary.NativeEndian.PutUint32(b[headVersion:], version)
	binary.NativeEndian.PutUint32(b[headSlot:], slotSize)
	binary.NativeEndian.PutUint32(b[headSlots:], uint32(slots))
	copy(b[headWorker:], worker[:])
	copy(b[headBoot:], boot[:])
	binary.NativeEndian.PutUint32(b[headSum:], crc32.Checksum(b[:headFixed], castagnoli))
	for i := range slots {
		s := b[headerSize+i*slotSize : headerSize+(i+1)*slotSize]
		n := int(binary.NativeEndian.Uint32(s[slotMembers:]))
		if n < 1 || n > MaxMembers {
			continue
		}
		decided, known := binary.NativeEndian.Uint64(s[slotDecided:]), binary.NativeEndian.Uint32(s[slotKnownLen:])
		if decided>>n != 0 || known > heapSize {
			continue
		}
		binary.NativeEndian.PutUint32(s[slotBegunSum:], begunSum(s, n, decided, int(known)))
		if used := int(binary.NativeEndian.Uint32(s[slotHeapLen:])); used <= heapSize {
			binary.NativeEndian.PutUint32(s[slotReplySum:], replySum(s, n, used))
		}
	}
}
