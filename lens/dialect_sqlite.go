package lens

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/postledger/postledger/lens/catalogue"
)

// sqliteDialect asks of every value whether it is of its column's kind: SQLite
// keeps what it is given, and calls any text greater than any number.
type sqliteDialect struct{}

func (sqliteDialect) placeholder(int) string { return "?" }

const (
	sqliteDay  = `[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*`
	sqliteHour = `[0-9][0-9]:[0-9][0-9]*`
	sqliteTime = "15:04:05.000"
)

// sqliteUUID is a pattern of GLOB.
var sqliteUUID = strings.Repeat("[0-9a-f]", 8) + strings.Repeat("-"+strings.Repeat("[0-9a-f]", 4), 3) + "-" + strings.Repeat("[0-9a-f]", 12)

func (sqliteDialect) operand(c *catalogue.Column, ref string, _ bool) (expr, fits string) {
	is := func(types string) string { return "typeof(" + ref + ") IN (" + types + ")" }
	switch c.Encoding {
	case catalogue.UnixSeconds, catalogue.UnixMillis:
		return ref, is("'integer'") + " AND " + withinYears(c.Encoding, ref)
	case catalogue.GoTime:
		return goTime(ref)
	case catalogue.RFC3339:
		return rfc3339(ref)
	}
	switch c.Kind {
	case catalogue.Bool:
		return "(" + ref + " <> 0)", is("'integer'")
	case catalogue.Int, catalogue.BigInt:
		return ref, is("'integer'")
	case catalogue.Decimal:
		return ref, is("'integer', 'real'") + " AND " + finite(ref)
	case catalogue.Float:
		return ref, is("'real'") + " AND " + finite(ref)
	case catalogue.Text:
		return ref + " COLLATE BINARY", is("'text'")
	case catalogue.Bytes:
		return ref, is("'blob'")
	case catalogue.UUID:
		return "lower(" + ref + ")", is("'text'") + " AND lower(" + ref + ") GLOB '" + sqliteUUID + "'"
	case catalogue.Date:
		return "date(" + ref + ")", is("'text'") + " AND " + ref + " GLOB '" + sqliteDay + "' AND date(" + ref + ") >= '0001'"
	case catalogue.Time:
		return "strftime('%H:%M:%f', " + ref + ")", is("'text'") + " AND " + ref + " GLOB '" + sqliteHour + "' AND substr(" + ref + ", 1, 2) < '24'"
	case catalogue.Timestamp, catalogue.TimestampTZ:
		expr := "strftime('%Y-%m-%d %H:%M:%f', " + ref + ")"
		return expr, is("'text'") + " AND " + ref + " GLOB '" + sqliteDay + "' AND " + expr + " >= '0001'"
	}
	return ref, ""
}

func finite(ref string) string {
	return ref + " BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308"
}

func (sqliteDialect) value(w *writer, c target, v any) string {
	switch v := v.(type) {
	case number:
		if n, whole := v.int64(); whole {
			return w.bind(n)
		}
		f, _ := v.rat.Float64()
		return w.bind(f)
	case bool:
		if v {
			return w.bind(int64(1))
		}
		return w.bind(int64(0))
	case time.Time:
		if c.details.Encoding.Unit() > 0 {
			return w.bind(unixOf(c.details.Encoding, v, c.round))
		}
		return w.bind(v.Format("2006-01-02 " + sqliteTime))
	case string:
		if c.kind == catalogue.Time && !c.json {
			if t, err := time.Parse(timeForm, v); err == nil {
				v = t.Format(sqliteTime)
			}
		}
		return w.bind(v)
	}
	return w.bind(v)
}

func (sqliteDialect) narrow(*writer, boundCompare, string) string { return "" }

// fold: without an extension, lower knows ASCII only.
func (sqliteDialect) fold(expr string) string { return "lower(" + expr + ")" }

// match does without LIKE, whose case depends on a pragma, and GLOB, which has no
// escape.
func (sqliteDialect) match(w *writer, op Op, expr, text string) string {
	n := itoa(utf8.RuneCountInString(text))
	switch op {
	case StartsWith:
		return "substr(" + expr + ", 1, " + n + ") = " + w.bind(text) + " COLLATE BINARY"
	case EndsWith:
		return "substr(" + expr + ", -" + n + ") = " + w.bind(text) + " COLLATE BINARY"
	}
	return "instr(" + expr + ", " + w.bind(text) + ") > 0"
}

func (sqliteDialect) json(w *writer, _ *catalogue.Column, ref string, path []Step, sort jsonSort) string {
	at := func() string { return w.bind(jsonPath(path)) }
	// Text that is not JSON would be an error of the whole statement.
	when := func(types string) string {
		return "(CASE WHEN json_valid(" + ref + ", 9) THEN CASE WHEN json_type(" + ref + ", " + at() + ") " + types + " THEN "
	}
	x := func() string { return "json_extract(" + ref + ", " + at() + ")" }
	switch sort {
	case jsonText:
		return when("= 'text'") + x() + " END END) COLLATE BINARY"
	case jsonNumber:
		n := func() string { return "CAST(" + x() + " AS REAL)" }
		return when("IN ('integer', 'real')") + "CASE WHEN abs(" + n() + ") <= 1e308 THEN " + n() + " END END END)"
	case jsonBool:
		return when("IN ('true', 'false')") + x() + " END END)"
	}
	return when("<> 'null'") + "1 END END)"
}

func (sqliteDialect) array(*writer, boundCompare, string) string {
	panic("lens: SQLite has no arrays")
}

func (d sqliteDialect) read(c *catalogue.Column, ref string) string {
	if c.Kind == catalogue.JSON {
		return "CASE WHEN json_valid(" + ref + ", 9) THEN json(" + ref + ") END"
	}
	if asStored(c) {
		return d.raw(c, ref)
	}
	expr, fits := d.operand(c, ref, true)
	return "CASE WHEN " + fits + " THEN " + expr + " END"
}

// asStored tells whether the values of a column are read as they are, and asked for their
// type here: the same question in SQL is half of what such a row costs.
func asStored(c *catalogue.Column) bool {
	switch c.Kind {
	case catalogue.Text, catalogue.Int, catalogue.BigInt, catalogue.Decimal, catalogue.Float, catalogue.Bytes:
		return c.Encoding == ""
	}
	return false
}

// stored tells whether a value is of its column's kind, as operand asks in SQL.
func stored(c *catalogue.Column, raw any) bool {
	if !asStored(c) {
		return true
	}
	switch raw.(type) {
	case string:
		return c.Kind == catalogue.Text
	case int64:
		return c.Kind == catalogue.Int || c.Kind == catalogue.BigInt || c.Kind == catalogue.Decimal
	case float64:
		return c.Kind == catalogue.Float || c.Kind == catalogue.Decimal
	}
	return c.Kind == catalogue.Bytes
}
