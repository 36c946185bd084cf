package catalogue

import "strings"

// Encoding is how a column holds instants, where its type does not say so. A value that
// is none under its encoding reads as null.
type Encoding string

// The encodings. Numbers are whole, and may be negative.
const (
	UnixSeconds Encoding = "unix_seconds" // since 1970-01-01T00:00:00Z
	UnixMillis  Encoding = "unix_millis"
	// GoTime is what Go's time.Time.String writes, and what SQLite drivers for Go
	// keep of a time: 2006-01-02 15:04:05.999999999 -0700 MST. SQLite only.
	GoTime Encoding = "go_time"
	// RFC3339 is text with a T and an offset, and nothing looser. SQLite only.
	RFC3339 Encoding = "rfc3339"
)

// Unit is how many milliseconds the number of a Unix encoding counts, or 0.
func (e Encoding) Unit() int64 {
	switch e {
	case UnixSeconds:
		return 1000
	case UnixMillis:
		return 1
	}
	return 0
}

// encode makes a column of numbers or text one of instants.
func (b *builder) encode(c *Column, say ModelColumn, path string) {
	e := say.Encoding
	number := c.Kind == Int || c.Kind == BigInt
	sqlite := b.schema.Dialect == SQLite
	switch {
	case e.Unit() == 0 && e != GoTime && e != RFC3339:
		b.fault(path+".encoding", "%q is not an encoding: %s", e,
			strings.Join([]string{string(UnixSeconds), string(UnixMillis), string(GoTime), string(RFC3339)}, ", "))
	case say.Kind != "" && say.Kind != TimestampTZ:
		b.fault(path+".encoding", "only an instant (timestamptz) is encoded, not %s", say.Kind)
	case !sqlite && e.Unit() == 0:
		b.fault(path+".encoding", "%s is for SQLite only", e)
	case !sqlite && (!number || strings.HasPrefix(c.Type, "year")):
		b.fault(path+".encoding", "a column of type %s (%s) holds no whole numbers", c.Type, c.Kind)
	default:
		c.Kind, c.Encoding = TimestampTZ, e
	}
}
