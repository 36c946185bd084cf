package journal

import "hash/crc32"

// The file: one header page, then the slots. Integers are in the machine's own
// byte order, since only the same boot of the same machine believes them.
const (
	magic   = "PLWIREJ\n"
	version = 2

	headerSize = 4096

	// Fixed fields, covered by the header's checksum.
	headMagic   = 0  // 8 bytes
	headVersion = 8  // uint32
	headSlot    = 12 // uint32, bytes a slot
	headSlots   = 16 // uint32, number of slots
	headLedger  = 24 // 16 bytes
	headWorker  = 40 // 16 bytes
	headBoot    = 56 // 16 bytes
	headFixed   = 72
	headSum     = 72 // uint32, CRC-32C of the fixed fields

	// Fields that change while the process lives, each one aligned word.
	headBeat    = 80 // uint64
	headClean   = 88 // uint32
	headSettles = 96 // uint64; zero in a journal of a binary that did not know it
)

// A slot: a fixed part, the members, an outcome of each member, and the heap
// their texts lie in. The two steps never write the same bytes, except for the
// state word: a member whose bit is set in slotDecided has its outcome written
// by Begun, every other one by Answered, whose texts lie behind Begun's. A
// record of one recipient stays within the slot's first page.
const (
	slotState    = 0  // uint32, see below
	slotMembers  = 4  // uint32
	slotEnvelope = 8  // 16 bytes
	slotDecided  = 24 // uint64, a bit a member
	slotKnownLen = 32 // uint32, how much of the heap is Begun's
	slotFixed    = 36 // end of what the begun checksum covers here
	slotBegunSum = 36 // uint32, over [slotMembers:slotFixed], the members, decided outcomes and their heap
	slotReplySum = 40 // uint32, over heap length, all outcomes and the whole heap
	slotHeapLen  = 44 // uint32
	slotHeapEnd  = 48

	memberAt       = 64
	memberSize     = 24
	memberDelivery = 0  // 16 bytes
	memberFence    = 16 // int64

	replyAt        = memberAt + MaxMembers*memberSize
	replySize      = 40
	replyClass     = 0  // uint8
	replyPhase     = 1  // uint8
	replyCode      = 2  // uint16
	replyEnhanced  = 4  // 3 x uint16
	replyText      = 10 // uint16 offset, uint16 length in the heap
	replyProvider  = 14 // uint16 offset, uint16 length in the heap
	replyReasonLen = 18 // uint8
	replyReason    = 19
	maxReason      = replySize - replyReason

	heapAt   = replyAt + MaxMembers*replySize
	slotSize = 8192
	// heapSize leaves 98 bytes a member when all texts differ.
	heapSize = slotSize - heapAt
)

// The states of a slot. No damage of a few bits turns one into another.
const (
	stateFree     uint32 = 0
	stateBegun    uint32 = 0x42474e31
	stateAnswered uint32 = 0xa57e5d72
)

const (
	// MaxMembers is the most recipients one envelope may have.
	MaxMembers = 50
	// MaxSlots bounds a journal to 128 MiB.
	MaxSlots = 16384
	// MaxText is how much of a reply's text is kept, in bytes.
	MaxText = 160
	// MaxProviderID is the longest provider id that is kept; a longer one is
	// left out, since a cut one would match nothing.
	MaxProviderID = 200

	maxCode = 999
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fileSize is the exact size of a journal with that many slots.
func fileSize(slots int) int64 { return headerSize + int64(slots)*slotSize }
