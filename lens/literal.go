package lens

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/postledger/postledger/lens/catalogue"
)

// What values of a kind are in Go, while they are compared:
//
//	bool                   bool
//	int, bigint, decimal   number
//	float, JSON numbers    float64
//	text, enum, uuid       string
//	date, time             string in the kind's own form, which sorts
//	timestamp              time.Time, its wall clock as if in UTC
//	timestamptz            time.Time in UTC
//	bytes                  []byte

// literal turns what a lens or a caller wrote into a value that fits a column.
// The problem says why it does not fit, or is "".
func (b *binder) literal(c target, lit any) (value any, problem string) {
	switch lit := lit.(type) {
	case string:
		if problem := textProblem(lit); problem != "" {
			return nil, problem
		}
		return b.textLiteral(c, lit)
	case bool:
		if c.kind == catalogue.Bool || c.json {
			return lit, ""
		}
	case json.Number:
		return b.numberLiteral(c, string(lit))
	case givenBytes:
		if c.kind != catalogue.Bytes || c.json {
			return nil, fmt.Sprintf("the field holds %s: bytes are none, give text", c.kind)
		}
		return []byte(lit), ""
	}
	return nil, c.misfit(lit)
}

func textProblem(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "the text is not UTF-8"
	case strings.ContainsRune(s, 0):
		return "text cannot contain U+0000"
	case len(s) > MaxText:
		return fmt.Sprintf("text has at most %d bytes", MaxText)
	}
	return ""
}

func (b *binder) numberLiteral(c target, text string) (any, string) {
	switch {
	case c.kind == catalogue.Float || c.json:
		if !json.Valid([]byte(text)) {
			return nil, "must be a number as JSON has them" // Go's own reader takes NaN, too
		}
		f, err := strconv.ParseFloat(text, 64)
		if err == nil && c.details.Single {
			f = float64(float32(f))
		}
		if err != nil || math.IsInf(f, 0) {
			return nil, "the number is out of range"
		}
		return f, ""
	case c.kind == catalogue.Int || c.kind == catalogue.BigInt || c.kind == catalogue.Decimal:
		return b.exact(c, text)
	}
	return nil, c.misfit(json.Number(text))
}

// exact reads a number for a column of exact numbers.
func (b *binder) exact(c target, text string) (any, string) {
	n, ok := parseNumber(text)
	switch {
	case !ok:
		return nil, fmt.Sprintf("must be a plain number of at most %d digits before and %d after the point", mostWhole, mostFraction)
	case c.kind == catalogue.Decimal:
		if _, whole := n.int64(); !whole && b.catalogue.Dialect == catalogue.SQLite && n.significant() > 15 {
			return nil, "SQLite keeps 15 digits of a decimal"
		}
	case !n.whole():
		return nil, fmt.Sprintf("%s is no whole number, and the field holds %s", n.text, c.kind)
	case !n.rat.Num().IsInt64() && (!c.details.Unsigned || !n.rat.Num().IsUint64()):
		return nil, "the number is out of range"
	}
	return n, ""
}

func (b *binder) textLiteral(c target, s string) (any, string) {
	if c.json {
		return s, ""
	}
	switch c.kind {
	case catalogue.Text:
		return s, ""
	case catalogue.Enum:
		if slices.Contains(c.details.Labels, s) {
			return s, ""
		}
		return nil, fmt.Sprintf("%q is not one of %s", s, strings.Join(c.details.Labels, ", "))
	case catalogue.BigInt, catalogue.Decimal:
		return b.exact(c, s)
	case catalogue.UUID:
		if id, ok := parseUUID(s); ok {
			return id, ""
		}
	case catalogue.Bytes:
		if raw, err := base64.StdEncoding.Strict().DecodeString(s); err == nil {
			return raw, ""
		}
	case catalogue.Date, catalogue.Time, catalogue.Timestamp, catalogue.TimestampTZ:
		return b.moment(c, s)
	}
	return nil, c.misfit(s)
}

// misfit says that a literal is of another type than the field.
func (c target) misfit(lit any) string {
	want := map[catalogue.Kind]string{
		catalogue.Bool: "true or false", catalogue.Int: "a whole number", catalogue.BigInt: "a whole number, or its digits as text",
		catalogue.Decimal: "a number, or its digits as text", catalogue.Float: "a number", catalogue.Bytes: "base64 text",
		catalogue.UUID: "a uuid", catalogue.Date: "a date such as 2026-01-31", catalogue.Time: "a time such as 15:04:05",
	}[c.kind]
	if want == "" {
		want = "text"
	}
	return fmt.Sprintf("the field holds %s: must be %s, not %s", c.kind, want, node{value: lit}.describe())
}

// parseUUID reads the form with hyphens, in any case.
func parseUUID(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	for i := range len(s) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		hex := s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'f' || s[i] >= 'A' && s[i] <= 'F'
		if hyphen && s[i] != '-' || !hyphen && !hex {
			return "", false
		}
	}
	return strings.ToLower(s), true
}

// Times are compared to the microsecond, in SQLite to the millisecond.
const (
	dateForm = "2006-01-02"
	wallForm = "2006-01-02T15:04:05.999999"
	timeForm = "15:04:05.999999"
)

func (b *binder) moment(c target, s string) (any, string) {
	if strings.HasPrefix(s, "now") {
		if c.kind == catalogue.Time {
			return nil, "a time of day is compared with a time such as 15:04:05"
		}
		return b.relative(c, s)
	}
	s = strings.Replace(s, " ", "T", 1)
	switch c.kind {
	case catalogue.Date:
		if t, err := time.Parse(dateForm, s); err == nil && t.Year() > 0 {
			return s, ""
		}
		return nil, c.misfit(s)
	case catalogue.Time:
		t, err := time.Parse(timeForm, s)
		if err != nil {
			return nil, c.misfit(s)
		}
		if problem := b.precision(t); problem != "" {
			return nil, problem
		}
		return t.Format(timeForm), ""
	}
	wall, wallErr := time.Parse(wallForm, s)
	instant, instantErr := time.Parse(time.RFC3339Nano, s)
	var t time.Time
	switch {
	case wallErr == nil && c.kind == catalogue.Timestamp:
		t = wall
	case wallErr == nil && b.zone != nil:
		t = localTime(wall, b.zone)
	case wallErr == nil:
		return nil, "the time needs an offset such as Z or +02:00, or the lens a zone"
	case instantErr == nil && c.kind == catalogue.TimestampTZ:
		t = instant.UTC()
	case instantErr == nil:
		return nil, "the field holds a wall clock's time: write it without an offset"
	default:
		return nil, "must be a time such as 2026-01-31T15:04:05Z, or one relative to now such as now-30d"
	}
	if t.Year() < 1 || t.Year() > 9999 {
		return nil, "years are from 1 to 9999"
	}
	return t, b.precision(t)
}

func (b *binder) precision(t time.Time) string {
	switch {
	case t.Nanosecond()%1000 != 0:
		return "times are compared to the microsecond"
	case b.catalogue.Dialect == catalogue.SQLite && t.Nanosecond()%1_000_000 != 0:
		return "SQLite compares times to the millisecond"
	}
	return ""
}
