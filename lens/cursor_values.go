package lens

import (
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/postledger/postledger/lens/catalogue"
)

// isComparable tells whether a value may be one that rows are ordered by in a column.
func isComparable(d catalogue.Dialect, c *catalogue.Column, v any) bool {
	if v == nil {
		return true
	}
	switch c.Kind {
	case catalogue.Int, catalogue.BigInt:
		n, ok := v.(number)
		return ok && n.whole() && (n.rat.Num().IsInt64() || c.Unsigned && n.rat.Num().IsUint64())
	case catalogue.Decimal:
		_, ok := v.(number)
		return ok
	case catalogue.Float:
		f, ok := v.(float64)
		return ok && !math.IsInf(f, 0)
	case catalogue.Bool:
		_, ok := v.(bool)
		return ok
	case catalogue.Bytes:
		_, ok := v.([]byte)
		return ok
	case catalogue.Timestamp, catalogue.TimestampTZ:
		t, ok := v.(time.Time)
		return ok && t.Year() >= 1 && t.Year() <= 9999
	}
	text, ok := v.(string)
	if !ok || !mayHold(d, text) {
		return false
	}
	switch c.Kind {
	case catalogue.UUID:
		id, ok := parseUUID(text)
		return ok && id == text
	case catalogue.Date:
		t, err := time.Parse(dateForm, text)
		return err == nil && t.Year() >= 1
	case catalogue.Time:
		_, err := time.Parse(timeForm, text)
		return err == nil
	}
	return true
}

// isRaw tells whether a value may be what a database gave for a column's raw value. In
// SQLite that is anything; the others would read what is none as an error, or as 0.
func isRaw(d catalogue.Dialect, c *catalogue.Column, v any) bool {
	n, isInt := v.(int64)
	text, isString := v.(string)
	switch {
	case d == catalogue.SQLite:
		_, isFloat := v.(float64)
		_, isBytes := v.([]byte)
		return isInt || isString || isFloat || isBytes
	case isInt:
		return d == catalogue.PostgreSQL && (c.Kind == catalogue.BigInt || c.Kind == catalogue.Int && n == int64(int32(n)) && (c.Type != "smallint" || n == int64(int16(n))))
	case !isString || !mayHold(d, text):
		return false
	case c.Encoding != "":
		return wholeNumber(text, c.Unsigned)
	}
	switch c.Kind {
	case catalogue.Int, catalogue.BigInt:
		return d == catalogue.MySQL && wholeNumber(text, c.Unsigned)
	case catalogue.Bool:
		if d == catalogue.PostgreSQL {
			return text == "true" || text == "false"
		}
		return wholeNumber(text, false)
	case catalogue.Decimal:
		return plainNumber(text) || d == catalogue.PostgreSQL && slices.Contains([]string{"NaN", "Infinity", "-Infinity"}, text)
	case catalogue.Float:
		_, err := strconv.ParseFloat(text, 64)
		return err == nil
	case catalogue.UUID:
		_, ok := parseUUID(text)
		return ok
	case catalogue.Bytes:
		_, err := hex.DecodeString(strings.TrimPrefix(text, `\x`))
		return err == nil
	case catalogue.Enum:
		return slices.Contains(c.Labels, text)
	case catalogue.Date, catalogue.Time, catalogue.Timestamp, catalogue.TimestampTZ:
		return written(c.Kind, text)
	}
	return true
}

// mayHold tells whether a database may hold a text: SQLite holds any, and PostgreSQL none
// with U+0000.
func mayHold(d catalogue.Dialect, text string) bool {
	return d == catalogue.SQLite || utf8.ValidString(text) && (d == catalogue.MySQL || !strings.ContainsRune(text, 0))
}

// written tells whether text may be a moment as the databases write it: also one beyond
// what lenses compare, such as infinity or a date with a zero.
func written(k catalogue.Kind, text string) bool {
	if text == "infinity" || text == "-infinity" {
		return k != catalogue.Time
	}
	const longest = 40 // 294276-12-31 23:59:59.999999+15:59:59 and less
	if len(text) > longest {
		return false
	}
	text = strings.TrimSuffix(text, " BC")
	digit := false
	for _, r := range text {
		digit = digit || r >= '0' && r <= '9'
		if (r < '0' || r > '9') && !strings.ContainsRune("-:. +", r) {
			return false
		}
	}
	return digit
}

func wholeNumber(text string, unsigned bool) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	if err != nil && unsigned {
		_, err = strconv.ParseUint(text, 10, 64)
	}
	return err == nil
}

// plainNumber tells whether text is a number as databases write them, of any length that
// one has.
func plainNumber(text string) bool {
	whole, fraction, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	digits := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	}
	return digits(whole) && (!point || digits(fraction)) && len(text) < 150_000
}
