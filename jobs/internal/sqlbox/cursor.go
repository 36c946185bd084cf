package sqlbox

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postledger/postledger/jobs"
)

// cursor is a place in a list: the last row that was looked at. Its section names the
// index in whose order the list goes there, key is that index's first column.
type cursor struct {
	section byte
	key     string
	place   int64
}

func (c cursor) String() string {
	return fmt.Sprintf("%c%d.%s", c.section, c.place, base64.RawURLEncoding.EncodeToString([]byte(c.key)))
}

// parseCursor reads what a list has given. A cursor names a section of the list that it
// is used for; what a key must be is the section's to say.
func parseCursor(text string, sections []section) (cursor, int, error) {
	bad := fmt.Errorf("%w: %.40q is none of this list's", jobs.ErrBadCursor, text)
	if text == "" {
		return cursor{}, 0, nil
	}
	digits, encoded, found := strings.Cut(text[1:], ".")
	place, err := strconv.ParseInt(digits, 10, 64)
	key, err2 := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if !found || err != nil || err2 != nil || place <= 0 {
		return cursor{}, 0, bad
	}
	for i, s := range sections {
		if s.name == text[0] {
			c := cursor{section: s.name, key: string(key), place: place}
			if !s.keyed.valid(c.key) || c.String() != text {
				return cursor{}, 0, bad
			}
			return c, i, nil
		}
	}
	return cursor{}, 0, bad
}

// keyed is the column by which a section is ordered before place.
type keyed uint8

const (
	byPlace keyed = iota // by place alone
	byGroup
	byRunAt
	byChangedAt
)

func (k keyed) column() string { return [...]string{"", "grp", "run_at", "changed_at"}[k] }

// valid tells whether a row can have the key: PostgreSQL fails at a text that it
// cannot store.
func (k keyed) valid(key string) bool {
	switch k {
	case byPlace:
		return key == ""
	case byGroup:
		return len(key) <= jobs.MaxKey && utf8.ValidString(key) && !strings.Contains(key, "\x00")
	}
	_, err := strconv.ParseInt(key, 10, 64)
	return err == nil
}

// arg is a key as the statements want it.
func (k keyed) arg(key string) any {
	if k == byGroup {
		return key
	}
	n, _ := strconv.ParseInt(key, 10, 64) // it is valid
	return n
}

// of is a row's key.
func (k keyed) of(s *seen) string {
	switch k {
	case byPlace:
		return ""
	case byGroup:
		return s.group
	}
	return strconv.FormatInt(s.moment, 10)
}
