package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/postledger/postledger"
)

// Slot is the right to one record, from Begun to Free.
type Slot struct {
	index, turn uint32
}

// Member is one delivery of an envelope, under the fence it was leased with.
type Member struct {
	Delivery postledger.ID
	Fence    int64
}

// Begun records that the envelope's last byte is about to be written, and what
// is known by then: one outcome a member, where OutcomeUnknown marks one in
// doubt, or nil when all are. It never blocks on anything but the other
// callers' few instructions. After an error nothing is recorded and the byte
// must not be written.
func (j *Journal) Begun(envelope postledger.ID, members []Member, known []postledger.Outcome) (Slot, error) {
	if known != nil && len(known) != len(members) {
		return Slot{}, fmt.Errorf("%w: %d known outcomes for %d members", ErrMisuse, len(known), len(members))
	}
	if envelope.IsZero() || len(members) < 1 || len(members) > MaxMembers {
		return Slot{}, fmt.Errorf("%w: envelope %s with %d members (want 1 to %d)", ErrMisuse, envelope, len(members), MaxMembers)
	}
	for i := range members {
		if members[i].Delivery.IsZero() || members[i].Fence < 1 {
			return Slot{}, fmt.Errorf("%w: member %d: delivery %s, fence %d", ErrMisuse, i, members[i].Delivery, members[i].Fence)
		}
		if known != nil && known[i].Class == postledger.OutcomeAccepted {
			return Slot{}, fmt.Errorf("%w: member %d: accepted before the last byte", ErrMisuse, i)
		}
	}
	s, err := j.take()
	if err != nil {
		return Slot{}, err
	}
	if err := j.writeBegun(j.slot(s.index), envelope, members, known); err != nil {
		j.put(s)
		return Slot{}, err
	}
	return s, nil
}

// Answered records what the next hop said of each member, in the order of
// Begun. What was known at Begun stands, and must have the class it had. An
// error leaves the slot begun: a crash from here on makes the members in doubt
// unconfirmed, and nothing else is lost.
func (j *Journal) Answered(s Slot, outcomes []postledger.Outcome) error {
	if err := j.holds(s); err != nil {
		return err
	}
	return j.writeAnswered(j.slot(s.index), outcomes)
}

// Free gives the slot back. It is called only after the settle of every member
// has committed; until then the record is the only proof there is.
func (j *Journal) Free(s Slot) error {
	if err := j.holds(s); err != nil {
		return err
	}
	if err := j.writeFree(j.slot(s.index)); err != nil {
		return err
	}
	if !j.put(s) {
		return fmt.Errorf("%w: slot %d was freed twice", ErrMisuse, s.index)
	}
	return nil
}

// take pops a free slot. Turns of a taken slot are odd.
func (j *Journal) take() (Slot, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed.Load():
		return Slot{}, ErrClosed
	case j.broken.Load():
		return Slot{}, ErrBroken
	case len(j.free) == 0:
		return Slot{}, ErrFull
	}
	i := j.free[len(j.free)-1]
	j.free = j.free[:len(j.free)-1]
	return Slot{index: i, turn: j.turn[i].Add(1)}, nil
}

// put pushes a slot back unless somebody did so already.
func (j *Journal) put(s Slot) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.turn[s.index].CompareAndSwap(s.turn, s.turn+1) {
		return false
	}
	j.free = append(j.free, s.index)
	return true
}

// holds checks a handle without touching the mapping, which may be gone.
func (j *Journal) holds(s Slot) error {
	if j.closed.Load() {
		return ErrClosed
	}
	if int(s.index) >= len(j.turn) || s.turn%2 == 0 || j.turn[s.index].Load() != s.turn {
		return fmt.Errorf("%w: slot %d is not held", ErrMisuse, s.index)
	}
	return nil
}

// slot is the memory of one slot.
func (j *Journal) slot(i uint32) []byte {
	at := headerSize + int(i)*slotSize
	return j.data[at : at+slotSize : at+slotSize]
}

// writeBegun fills a free slot and then, in one store, makes it begun.
func (j *Journal) writeBegun(b []byte, envelope postledger.ID, members []Member, known []postledger.Outcome) (err error) {
	defer j.fault(catchFaults(), &err)
	fillBegun(b, envelope, members, known)
	word32(b, slotState).Store(stateBegun)
	return nil
}

// writeAnswered adds the outcomes and then, in one store, makes it answered.
func (j *Journal) writeAnswered(b []byte, outcomes []postledger.Outcome) (err error) {
	defer j.fault(catchFaults(), &err)
	if word32(b, slotState).Load() != stateBegun {
		return fmt.Errorf("%w: slot is answered already", ErrMisuse)
	}
	if n := binary.NativeEndian.Uint32(b[slotMembers:]); int(n) != len(outcomes) {
		return fmt.Errorf("%w: %d outcomes for %d members", ErrMisuse, len(outcomes), n)
	}
	decided := binary.NativeEndian.Uint64(b[slotDecided:])
	for ; decided != 0; decided &= decided - 1 {
		i := bits.TrailingZeros64(decided)
		if was := postledger.OutcomeClass(b[replyAt+i*replySize+replyClass]); was != outcomes[i].Class {
			return fmt.Errorf("%w: member %d was %s at begun and is %s", ErrMisuse, i, was, outcomes[i].Class)
		}
	}
	fillAnswered(b, outcomes)
	word32(b, slotState).Store(stateAnswered)
	return nil
}

func (j *Journal) writeFree(b []byte) (err error) {
	defer j.fault(catchFaults(), &err)
	word32(b, slotState).Store(stateFree)
	return nil
}

// fillBegun writes all of a begun record but its state.
func fillBegun(b []byte, envelope postledger.ID, members []Member, known []postledger.Outcome) {
	binary.NativeEndian.PutUint32(b[slotMembers:], uint32(len(members)))
	copy(b[slotEnvelope:], envelope[:])
	for i := range members {
		m := b[memberAt+i*memberSize:]
		copy(m[memberDelivery:memberDelivery+len(members[i].Delivery)], members[i].Delivery[:])
		binary.NativeEndian.PutUint64(m[memberFence:], uint64(members[i].Fence))
	}
	var decided uint64
	for i := range known {
		if known[i].Class.Certain() {
			decided |= 1 << i
		}
	}
	h := heap{b: b[heapAt:slotSize]}
	fillOutcomes(b, &h, known, decided)
	binary.NativeEndian.PutUint64(b[slotDecided:], decided)
	binary.NativeEndian.PutUint32(b[slotKnownLen:], uint32(h.used))
	binary.NativeEndian.PutUint32(b[slotBegunSum:], begunSum(b, len(members), decided, h.used))
}

// begunSum is the checksum of what Begun wrote.
func begunSum(b []byte, members int, decided uint64, heap int) uint32 {
	sum := crc32.Update(0, castagnoli, b[slotMembers:slotFixed])
	sum = crc32.Update(sum, castagnoli, b[memberAt:memberAt+members*memberSize])
	for ; decided != 0; decided &= decided - 1 {
		at := replyAt + bits.TrailingZeros64(decided)*replySize
		sum = crc32.Update(sum, castagnoli, b[at:at+replySize])
	}
	return crc32.Update(sum, castagnoli, b[heapAt:heapAt+heap])
}

// replySum is the checksum of what Answered wrote.
func replySum(b []byte, members, heap int) uint32 {
	sum := crc32.Update(0, castagnoli, b[slotHeapLen:slotHeapEnd])
	sum = crc32.Update(sum, castagnoli, b[replyAt:replyAt+members*replySize])
	return crc32.Update(sum, castagnoli, b[heapAt:heapAt+heap])
}
