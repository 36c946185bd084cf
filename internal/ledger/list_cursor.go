package ledger

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/postledger/postledger"
)

// Errors about cursors.
var (
	// ErrBadCursor: the text is not a cursor of this list.
	ErrBadCursor = errors.New("the cursor is not valid")
	// ErrCursorFilter: the cursor belongs to a list with another filter.
	ErrCursorFilter = errors.New("the cursor belongs to another filter")
)

// listKind keeps the cursors of different lists apart.
type listKind byte

const (
	listDeliveries listKind = 'd'
	listMessages   listKind = 'm'
	listAudit      listKind = 'a'
)

// place is where a page starts: before (older than) or after (newer than) a
// row's key, in a list that is newest first. Lists over messages' deliveries
// have two ids in their key, others the second one only.
type place struct {
	newer  bool
	major  postledger.ID
	id     postledger.ID
	filter [filterHashSize]byte
}

const (
	cursorVersion  = 1
	filterHashSize = 8
	cursorSize     = 3 + filterHashSize + 2*len(postledger.ID{})
)

// hashFilter is what a cursor keeps of its filter: enough that a filter
// changed by mistake does not pass.
func hashFilter(filter any) ([filterHashSize]byte, error) {
	var h [filterHashSize]byte
	text, err := json.Marshal(filter)
	if err != nil {
		return h, fmt.Errorf("encode filter: %w", err)
	}
	sum := sha256.Sum256(text)
	copy(h[:], sum[:])
	return h, nil
}

func (p place) encode(kind listKind) string {
	b := make([]byte, 0, cursorSize)
	direction := byte(0)
	if p.newer {
		direction = 1
	}
	b = append(b, cursorVersion, byte(kind), direction)
	b = append(b, p.filter[:]...)
	b = append(b, p.major[:]...)
	b = append(b, p.id[:]...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodePlace reads a cursor; "" is the start of the list.
func decodePlace(kind listKind, cursor string, filter [filterHashSize]byte) (place, error) {
	p := place{filter: filter, major: lastID, id: lastID}
	if cursor == "" {
		return p, nil
	}
	// The decoder skips line breaks; the length tells.
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) != cursorSize || len(cursor) != base64.RawURLEncoding.EncodedLen(cursorSize) || b[0] != cursorVersion || b[1] != byte(kind) || b[2] > 1 {
		return p, ErrBadCursor
	}
	p.newer = b[2] == 1
	b = b[3:]
	if string(b[:filterHashSize]) != string(filter[:]) {
		return p, ErrCursorFilter
	}
	b = b[filterHashSize:]
	copy(p.major[:], b)
	copy(p.id[:], b[len(p.major):])
	return p, nil
}

// lastID is above every id we make: their first bit is that of a date.
var lastID = postledger.ID{
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
}

// idAfter is the next id in order.
func idAfter(id postledger.ID) postledger.ID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id
}
