package secret

import (
	"encoding/binary"
	"errors"
)

const (
	boxVersion = 1
	headerSize = 1 + keyIDSize
	gcmNonce   = 12
	gcmTag     = 16

	// Overhead is how much longer a box is than what is in it.
	Overhead = headerSize + gcmNonce + gcmTag
)

// Reasons why a box stays closed.
var (
	// ErrKeyUnknown: the key the box was sealed with is not in the keyring.
	ErrKeyUnknown = errors.New("secret: box was sealed with a key that is not in the keyring")
	// ErrClosed: the box was changed or cut, is no box at all, or belongs to
	// another row or host. Which of these it is cannot be known.
	ErrClosed = errors.New("secret: box does not open: it was changed or belongs elsewhere")
)

// Seal encrypts plaintext under the current key, bound to the given texts in
// their order.
func (k *Keyring) Seal(plaintext []byte, binding ...string) []byte {
	box := make([]byte, headerSize, Overhead+len(plaintext))
	box[0] = boxVersion
	copy(box[1:], k.current[:])
	return k.boxes[k.current].Seal(box, nil, plaintext, additional(box[:headerSize], binding))
}

// Open decrypts a box that was sealed with the same binding. It fails with
// [ErrKeyUnknown] or [ErrClosed].
func (k *Keyring) Open(box []byte, binding ...string) ([]byte, error) {
	if len(box) < Overhead || box[0] != boxVersion {
		return nil, ErrClosed
	}
	aead, ok := k.boxes[keyID(box[1:headerSize])]
	if !ok {
		return nil, ErrKeyUnknown
	}
	plaintext, err := aead.Open(nil, nil, box[headerSize:], additional(box[:headerSize], binding))
	if err != nil {
		return nil, ErrClosed
	}
	return plaintext, nil
}

// NeedsReseal reports whether a box was sealed with another key or in another
// version than Seal uses now. It does not say that the box opens.
func (k *Keyring) NeedsReseal(box []byte) bool {
	return len(box) < headerSize || box[0] != boxVersion || keyID(box[1:headerSize]) != k.current
}

// additional joins header and binding so that no two lists read the same.
func additional(header []byte, binding []string) []byte {
	out := append([]byte(nil), header...)
	for _, b := range binding {
		out = binary.BigEndian.AppendUint64(out, uint64(len(b)))
		out = append(out, b...)
	}
	return out
}
