package mime

import (
	"crypto/sha256"
	"encoding/hex"
)

// boundaryLen is the length of the part that all boundaries of a message share:
// "=_" and 16 octets in hexadecimal. One letter follows that tells the levels
// apart, so none begins another.
const boundaryLen = 2 + 2*16

const (
	levelMixed       = "m"
	levelRelated     = "r"
	levelAlternative = "a"
)

// boundaryOf derives the shared part from the seed. A seed of 16 octets, such as
// an id, is written as it is, so that a message can be found by it in a dump.
func boundaryOf(seed []byte) (b [boundaryLen]byte) {
	var raw [16]byte
	if copy(raw[:], seed); len(seed) != len(raw) {
		sum := sha256.Sum256(seed)
		copy(raw[:], sum[:])
	}
	b[0], b[1] = '=', '_'
	hex.Encode(b[2:], raw[:])
	return b
}
