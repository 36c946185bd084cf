package lens

import (
	"math"
	"strconv"
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

// Instants that a column holds as numbers are compared as these numbers, so that the
// column's index serves, and the literal is what is converted.

var (
	firstMoment = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	lastMoment  = time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
)

// withinYears is the condition that a number of a Unix encoding lies in years 1 to 9999.
func withinYears(e catalogue.Encoding, ref string) string {
	first, last := firstMoment.UnixMilli()/e.Unit(), lastMoment.UnixMilli()/e.Unit()
	return ref + " BETWEEN " + strconv.FormatInt(first, 10) + " AND " + strconv.FormatInt(last, 10)
}

// rounding tells how a literal between two units is taken.
type rounding int

const (
	exactly rounding = iota
	downwards
	upwards
)

// roundingOf: with whole numbers, less than 1.5 is less than 2, and at least 1.5 is at
// least 2; at most and greater take 1.
func roundingOf(op Op, value int) rounding {
	switch {
	case op == Lt, op == Gte, op == Between && value == 0:
		return upwards
	case op == Lte, op == Gt, op == Between:
		return downwards
	}
	return exactly
}

// unixOf is an instant as a number of units. What falls between two and must be equal
// is a number that no instant has.
func unixOf(e catalogue.Encoding, t time.Time, r rounding) int64 {
	micros, unit := t.UnixMicro(), e.Unit()*1000
	n, rest := micros/unit, micros%unit
	if rest < 0 {
		n, rest = n-1, rest+unit
	}
	switch {
	case rest == 0 || r == downwards:
		return n
	case r == upwards:
		return n + 1
	}
	return math.MaxInt64
}

// decodeUnix reads a number as an instant; nil when it is none.
func decodeUnix(c *catalogue.Column, raw any) (any, error) {
	var n int64
	switch v := raw.(type) {
	case int64:
		n = v
	case uint64:
		if v > math.MaxInt64 {
			return nil, nil
		}
		n = int64(v)
	case string:
		parsed, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, undecodable(c, raw)
		}
		n = parsed
	default:
		return nil, undecodable(c, raw)
	}
	unit := c.Encoding.Unit()
	if n < firstMoment.UnixMilli()/unit || n > lastMoment.UnixMilli()/unit {
		return nil, nil
	}
	return time.UnixMilli(n * unit).UTC(), nil
}

// goTime is the text of Go's time.Time.String in a form that SQLite reads: the offset
// without its colon, and all behind it, are what it does not know.
func goTime(ref string) (expr, fits string) {
	space := "(19 + instr(substr(" + ref + ", 20), ' '))"
	offset := "substr(" + ref + ", " + space + " + 1, 5)"
	expr = "strftime('%Y-%m-%d %H:%M:%f', substr(" + ref + ", 1, " + space + " - 1) || substr(" + offset + ", 1, 3) || ':' || substr(" + offset + ", 4))"
	return expr, "typeof(" + ref + ") = 'text' AND " + ref + " GLOB '" + sqliteDay[:len(sqliteDay)-1] + " [0-9][0-9]:[0-9][0-9]:[0-9][0-9][ .]*' AND " +
		offset + " GLOB '[-+][0-9][0-9][0-9][0-9]' AND " + expr + " >= '0001'"
}

// rfc3339 asks of text that SQLite reads for the T and the offset.
func rfc3339(ref string) (expr, fits string) {
	expr = "strftime('%Y-%m-%d %H:%M:%f', " + ref + ")"
	return expr, "typeof(" + ref + ") = 'text' AND " + ref + " GLOB '" + sqliteDay[:len(sqliteDay)-1] + "T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]*' AND (" +
		ref + " GLOB '*Z' OR " + ref + " GLOB '*[-+][0-9][0-9]:[0-9][0-9]') AND " + expr + " >= '0001'"
}
