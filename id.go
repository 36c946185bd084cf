package postledger

import (
	"crypto/rand"
	"database/sql/driver"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// ID is a UUIDv7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, then a
// counter and randomness. IDs of one process never decrease, so rows of one
// message lie next to each other in every index that ends in an id.
type ID [16]byte

// ErrBadID reports text that is not a UUID in its usual 36-character form.
var ErrBadID = errors.New("not a UUID (want 8-4-4-4-12 hexadecimal digits)")

// idBase32 is lower-case and unpadded: valid in a dot-atom, in VERP local
// parts and in DSN ENVIDs, and safe where letter case is lost on the way.
var idBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// IDSource makes IDs that never decrease, also when the clock steps back
// (RFC 9562 §6.2, method 1: a counter in rand_a and the start of rand_b).
// Its zero value is ready; it is safe for concurrent use.
type IDSource struct {
	mu   sync.Mutex
	last uint64 // milliseconds<<20 | 20-bit counter
}

// Next returns an ID for the moment now.
func (s *IDSource) Next(now time.Time) ID {
	s.mu.Lock()
	stamp := uint64(now.UnixMilli()) << 20
	if stamp <= s.last {
		stamp = s.last + 1
	}
	s.last = stamp
	s.mu.Unlock()

	var id ID
	rand.Read(id[8:])
	ms, counter := stamp>>20, stamp&0xfffff
	binary.BigEndian.PutUint64(id[:8], ms<<16|0x7000|counter>>8)
	id[8] = 0x80 | byte(counter>>2)&0x3f
	id[9] = byte(counter)<<6 | id[9]&0x3f
	return id
}

// IsZero reports whether the id was never set.
func (id ID) IsZero() bool { return id == ID{} }

// Time is the moment the id was made, to the millisecond.
func (id ID) Time() time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16)).UTC()
}

// String is the usual lower-case form with hyphens.
func (id ID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], id[0:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:36], id[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// Token is the 26-character base32 form used where a mail protocol carries
// the id: Message-ID, ENVID and VERP.
func (id ID) Token() string { return idBase32.EncodeToString(id[:]) }

// ParseToken reads what Token wrote, in any letter case.
func ParseToken(s string) (ID, error) {
	var id ID
	b, err := idBase32.DecodeString(strings.ToLower(s))
	if err != nil || len(b) != len(id) {
		return ID{}, fmt.Errorf("token %q: want 26 base32 characters", s)
	}
	copy(id[:], b)
	return id, nil
}

// ParseID reads the 36-character form in any letter case.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, ErrBadID
	}
	for _, p := range [...][3]int{{0, 0, 8}, {4, 9, 13}, {6, 14, 18}, {8, 19, 23}, {10, 24, 36}} {
		if _, err := hex.Decode(id[p[0]:], []byte(s[p[1]:p[2]])); err != nil {
			return ID{}, ErrBadID
		}
	}
	return id, nil
}

// MarshalText makes JSON show the id as String does; the zero id is empty.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText is the inverse of MarshalText.
func (id *ID) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*id = ID{}
		return nil
	}
	v, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = v
	return nil
}

// Scan reads a uuid column (PostgreSQL gives text) or a 16-byte blob
// (SQLite); NULL is the zero id.
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*id = ID{}
		return nil
	case []byte:
		if len(v) == len(id) {
			copy(id[:], v)
			return nil
		}
		return id.UnmarshalText(v)
	case string:
		return id.UnmarshalText([]byte(v))
	default:
		return fmt.Errorf("scan id: unexpected %T", src)
	}
}

// Value stores the zero id as NULL and others as 16 bytes; a dialect that
// wants another form converts before it binds.
func (id ID) Value() (driver.Value, error) {
	if id.IsZero() {
		return nil, nil
	}
	return id[:], nil
}
