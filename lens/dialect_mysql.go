package lens

import (
	"strings"
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

type mysqlDialect struct{}

func (mysqlDialect) placeholder(int) string { return "?" }

// binaryText compares bytes of UTF-8: every collation of text ignores something,
// the binary ones trailing spaces.
func binaryText(expr string) string { return "CAST(CONVERT(" + expr + " USING utf8mb4) AS BINARY)" }

// operand: dates with a zero in them are values of no kind, and neither are days that no
// month has (ALLOW_INVALID_DATES keeps a 31 February) and times that are no time of day.
func (mysqlDialect) operand(c *catalogue.Column, ref string, _ bool) (expr, fits string) {
	if c.Encoding != "" {
		return ref, withinYears(c.Encoding, ref)
	}
	switch c.Kind {
	case catalogue.Bool:
		return "(" + ref + " <> 0)", ""
	case catalogue.Text, catalogue.Enum:
		return binaryText(ref), ""
	case catalogue.Int:
		if strings.HasPrefix(c.Type, "year") {
			return "(" + ref + " + 0)", "" // a year compares with 26 as with 2026
		}
	case catalogue.Date, catalogue.Timestamp, catalogue.TimestampTZ:
		return ref, "MONTH(" + ref + ") > 0 AND DAYOFMONTH(" + ref + ") BETWEEN 1 AND DAYOFMONTH(LAST_DAY(" + ref + ")) AND YEAR(" + ref + ") > 0"
	case catalogue.Time:
		return ref, ref + " >= TIME '00:00:00' AND " + ref + " < TIME '24:00:00'"
	}
	return ref, ""
}

func (mysqlDialect) value(w *writer, c target, v any) string {
	switch v := v.(type) {
	case number:
		if c.kind == catalogue.Decimal {
			return "CAST(" + w.bind(v.text) + " AS DECIMAL(65,30))"
		}
		if n, fits := v.int64(); fits {
			return w.bind(n)
		}
		return w.bind(v.rat.Num().Uint64())
	case bool:
		if v {
			return w.bind(int64(1))
		}
		return w.bind(int64(0))
	case []byte:
		return "CAST(" + w.bind(v) + " AS BINARY)"
	case time.Time:
		if c.details.Encoding != "" {
			return w.bind(unixOf(c.details.Encoding, v, c.round))
		}
		return "CAST(" + w.bind(v.Format("2006-01-02 15:04:05.999999")) + " AS DATETIME(6))"
	case string:
		switch {
		case c.json:
			return "CAST(" + w.bind(v) + " AS BINARY)"
		case c.kind == catalogue.Date:
			return "CAST(" + w.bind(v) + " AS DATE)"
		case c.kind == catalogue.Time:
			return "CAST(" + w.bind(v) + " AS TIME(6))"
		case c.kind == catalogue.UUID:
			return w.bind(v)
		}
		return "CAST(" + w.bind(v) + " AS BINARY)"
	}
	return w.bind(v)
}

// narrow lets an index on text find what may be equal: equal bytes are equal
// under every collation of the same encoding.
func (mysqlDialect) narrow(w *writer, c boundCompare, ref string) string {
	if c.column.Kind != catalogue.Text || c.column.Cast || (c.op != Eq && c.op != In) {
		return ""
	}
	values := make([]string, len(c.values))
	for i, v := range c.values {
		values[i] = w.bind(v)
	}
	return ref + " IN (" + strings.Join(values, ", ") + ")"
}

// fold cannot use LOWER, which folds all of Unicode for text and nothing for
// bytes.
func (mysqlDialect) fold(expr string) string {
	for letter := 'A'; letter <= 'Z'; letter++ {
		expr = "REPLACE(" + expr + ", '" + string(letter) + "', '" + string(letter+'a'-'A') + "')"
	}
	return expr
}

// match compares bytes; UTF-8 cannot match in the middle of a character.
func (mysqlDialect) match(w *writer, op Op, expr, text string) string {
	// The operand was asked for first, so it must come first: two of the forms
	// would else bind in another order than they are written.
	switch op {
	case StartsWith:
		return "LEFT(" + expr + ", " + itoa(len(text)) + ") = CAST(" + w.bind(text) + " AS BINARY)"
	case EndsWith:
		return "RIGHT(" + expr + ", " + itoa(len(text)) + ") = CAST(" + w.bind(text) + " AS BINARY)"
	}
	return "INSTR(" + expr + ", CAST(" + w.bind(text) + " AS BINARY)) > 0"
}

// json: a position taken of something that is no array would give the thing
// itself, so every position asks for an array first.
func (mysqlDialect) json(w *writer, _ *catalogue.Column, ref string, path []Step, sort jsonSort) string {
	x := func() string { return "JSON_EXTRACT(" + ref + ", " + w.bind(jsonPath(path)) + ")" }
	var conditions []string
	for i, step := range path {
		if step.IsIndex {
			conditions = append(conditions, "JSON_TYPE(JSON_EXTRACT("+ref+", "+w.bind(jsonPath(path[:i]))+")) = 'ARRAY'")
		}
	}
	when := func(types string) string {
		return "(CASE WHEN " + strings.Join(append(conditions, "JSON_TYPE("+x()+") "+types), " AND ") + " THEN "
	}
	switch sort {
	case jsonText:
		return when("= 'STRING'") + binaryText("JSON_UNQUOTE("+x()+")") + " END)"
	case jsonNumber:
		// The cast makes the largest double of what is larger than any.
		n := func() string { return "CAST(JSON_UNQUOTE(" + x() + ") AS DOUBLE)" }
		return when("IN ('INTEGER', 'UNSIGNED INTEGER', 'DOUBLE', 'DECIMAL')") + "CASE WHEN ABS(" + n() + ") <= 1e308 THEN " + n() + " END END)"
	case jsonBool:
		return when("= 'BOOLEAN'") + "(JSON_UNQUOTE(" + x() + ") = 'true') END)"
	}
	return when("<> 'NULL'") + "1 END)"
}

func (mysqlDialect) array(*writer, boundCompare, string) string {
	panic("lens: MySQL has no arrays")
}

func (mysqlDialect) read(c *catalogue.Column, ref string) string {
	switch c.Kind {
	case catalogue.Bool:
		return "(" + ref + " <> 0)"
	case catalogue.Float:
		return "(" + ref + " + 0E0)"
	case catalogue.UUID:
		return "CAST(" + ref + " AS CHAR)"
	}
	return ref
}
