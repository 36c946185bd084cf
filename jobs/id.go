package jobs

import (
	"crypto/rand"
	"crypto/sha1"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ID names a job for good: it stays the same over retries, restarts and a move
// between the hot set and the outbox. It is a UUID: one that [IDSource] made, or
// one that the caller derives from what the job is about (see [DeriveID]).
type ID [16]byte

// ErrBadID reports text that is not a UUID in its usual 36-character form.
var ErrBadID = errors.New("not a UUID (want 8-4-4-4-12 hexadecimal digits)")

// IDSource makes UUIDv7s (RFC 9562 §5.7) that never decrease, also when the
// clock steps back (§6.2, method 1: a counter in rand_a and the start of
// rand_b). Its zero value is ready; it is safe for concurrent use.
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

// DeriveID is the UUIDv5 (RFC 9562 §5.5) of a name within a space: the same
// space and name give the same id, so that work that is derived twice is one job.
func DeriveID(space ID, name string) ID {
	h := sha1.New()
	h.Write(space[:])
	h.Write([]byte(name))
	var id ID
	copy(id[:], h.Sum(nil))
	id[6] = 0x50 | id[6]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	return id
}

// IsZero reports whether the id was never set.
func (id ID) IsZero() bool { return id == ID{} }

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

// MarshalText makes JSON show the id as String does.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (id *ID) UnmarshalText(b []byte) error {
	v, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = v
	return nil
}

// Scan reads a uuid column (PostgreSQL gives text) or 16 bytes.
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case []byte:
		if len(v) == len(id) {
			copy(id[:], v)
			return nil
		}
		return id.UnmarshalText(v)
	case string:
		return id.UnmarshalText([]byte(v))
	default:
		return fmt.Errorf("scan job id: unexpected %T", src)
	}
}

// Value stores the id as 16 bytes; a dialect that wants another form converts
// before it binds.
func (id ID) Value() (driver.Value, error) { return id[:], nil }
