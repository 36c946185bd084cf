package lens

import (
	"strconv"
	"strings"
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

func itoa(n int) string { return strconv.Itoa(n) }

type postgresDialect struct{}

func (postgresDialect) placeholder(n int) string { return "$" + itoa(n) }

// operand: NaN and infinities are values of no kind (x - x is 0 for all others),
// and neither are dates outside years 1 to 9999 nor 24:00.
func (postgresDialect) operand(c *catalogue.Column, ref string, exact bool) (expr, fits string) {
	if c.Encoding != "" {
		return ref, withinYears(c.Encoding, ref)
	}
	switch c.Kind {
	case catalogue.Decimal, catalogue.Float:
		return ref, "(" + ref + " - " + ref + ") = 0"
	case catalogue.Enum:
		return ref + "::text", ""
	case catalogue.Text:
		if c.Cast {
			ref += "::text"
		}
		if exact && !c.Cast && !c.Fuzzy {
			// Deterministic collations call only equal bytes equal.
			return ref, ""
		}
		return "(" + ref + `) COLLATE "C"`, ""
	case catalogue.Date:
		return ref, ref + " BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
	case catalogue.Time:
		return ref, ref + " < TIME '24:00:00'"
	case catalogue.Timestamp:
		return ref, ref + " BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
	case catalogue.TimestampTZ:
		return ref, ref + " BETWEEN TIMESTAMPTZ '0001-01-01 00:00:00Z' AND TIMESTAMPTZ '9999-12-31 23:59:59.999999Z'"
	case catalogue.Array:
		return ref, "coalesce(array_ndims(" + ref + "), 1) = 1"
	}
	return ref, ""
}

// value binds text and says its type: the server reads it as exactly as the
// column's own values, whatever the driver thinks of either.
func (postgresDialect) value(w *writer, c target, v any) string {
	switch v := v.(type) {
	case number:
		if c.kind == catalogue.Decimal {
			return w.bind(v.text) + "::numeric"
		}
		return w.bind(v.text) + "::int8"
	case float64:
		return w.bind(strconv.FormatFloat(v, 'g', -1, 64)) + "::float8"
	case bool:
		return w.bind(strconv.FormatBool(v)) + "::bool"
	case []byte:
		return w.bind(v) + "::bytea"
	case time.Time:
		if c.details.Encoding != "" {
			return w.bind(strconv.FormatInt(unixOf(c.details.Encoding, v, c.round), 10)) + "::int8"
		}
		if c.kind == catalogue.Timestamp {
			return w.bind(v.Format("2006-01-02 15:04:05.999999")) + "::timestamp"
		}
		return w.bind(v.Format("2006-01-02 15:04:05.999999Z07:00")) + "::timestamptz"
	}
	types := map[catalogue.Kind]string{catalogue.UUID: "::uuid", catalogue.Date: "::date", catalogue.Time: "::time"}
	if cast, known := types[c.kind]; known && !c.json {
		return w.bind(v) + cast
	}
	return w.bind(v) + "::text"
}

func (postgresDialect) narrow(*writer, boundCompare, string) string { return "" }

func (postgresDialect) fold(expr string) string { return "lower((" + expr + `) COLLATE "C")` }

// match uses LIKE, which trigram indexes serve, with an escape that is written
// out.
func (postgresDialect) match(w *writer, op Op, expr, text string) string {
	pattern := strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text)
	if op != StartsWith {
		pattern = "%" + pattern
	}
	if op != EndsWith {
		pattern += "%"
	}
	return expr + " LIKE " + w.bind(pattern) + "::text ESCAPE '!'"
}

// document is a JSON column whose values the server can look into. Type json keeps text that
// jsonb is not made of: U+0000, half a surrogate pair, numbers of which no numeric is made.
// One such row would be an error of every statement, so it is null. Few texts have an escape
// or an exponent of five digits, and only those are looked at more closely: without
// escaped backslashes and whole pairs, and without strings.
func document(c *catalogue.Column, ref string) string {
	if c.Binary {
		return ref
	}
	text := ref + "::text"
	const exponent = `[eE][-+]?[0-9]{5}`
	escapes := `regexp_replace(regexp_replace(` + text + `, '\\\\', ' ', 'g'), '\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}', ' ', 'g')`
	numbers := `regexp_replace(` + text + `, '\u0022(\\.|[^\u0022\\])*\u0022', ' ', 'g')`
	return `(CASE WHEN ` + text + ` !~ '\\u|` + exponent + `' OR ` + escapes + ` !~ '\\u(0000|[dD][89a-fA-F])' AND ` +
		numbers + ` !~ '` + exponent + `' THEN ` + ref + ` END)`
}

// json uses a strict path: keys are looked for in objects only, positions in
// arrays only. A number too large or small for a double is none.
func (postgresDialect) json(w *writer, c *catalogue.Column, ref string, path []Step, sort jsonSort) string {
	ref = document(c, ref)
	at := w.bind("strict " + jsonPath(path))
	x := "jsonb_path_query_first(" + ref + "::jsonb, " + at + "::jsonpath, '{}', true)"
	text := "(" + x + " #>> '{}')"
	switch sort {
	case jsonText:
		return "(CASE WHEN jsonb_typeof(" + x + ") = 'string' THEN " + text + ` END) COLLATE "C"`
	case jsonNumber:
		n := text + "::numeric"
		return "(CASE WHEN jsonb_typeof(" + x + ") = 'number' THEN CASE WHEN " + n + " = 0 OR abs(" + n +
			") BETWEEN 1e-307 AND 1e308 THEN " + n + "::float8 END END)"
	case jsonBool:
		return "(CASE WHEN jsonb_typeof(" + x + ") = 'boolean' THEN " + text + "::bool END)"
	}
	return "nullif(" + x + ", 'null'::jsonb)"
}

// elementTypes are the types in which the elements of arrays are compared.
var elementTypes = map[catalogue.Kind]string{
	catalogue.Bool: "bool", catalogue.Int: "int8", catalogue.BigInt: "int8", catalogue.Text: "text", catalogue.UUID: "uuid",
}

func (d postgresDialect) array(w *writer, c boundCompare, ref string) string {
	_, fits := d.operand(c.column, ref, true)
	element := elementTypes[c.column.Element]
	array := ref + "::" + element + "[]"
	if c.column.Fuzzy {
		array = "(" + array + `) COLLATE "C"`
	}
	if c.op == IsEmpty {
		sign := " = 0"
		if !c.flag {
			sign = " > 0"
		}
		return "cardinality(" + ref + ")" + sign + " AND " + fits
	}
	values := make([]string, len(c.values))
	for i, v := range c.values {
		values[i] = d.value(w, target{kind: c.column.Element}, v)
	}
	sign := " @> "
	if c.op == HasSome {
		sign = " && "
	}
	return array + sign + "ARRAY[" + strings.Join(values, ", ") + "]::" + element + "[] AND " + fits
}

func (postgresDialect) read(c *catalogue.Column, ref string) string {
	if c.Encoding != "" {
		return ref
	}
	switch c.Kind {
	case catalogue.Bool, catalogue.Int, catalogue.BigInt, catalogue.Bytes:
		return ref
	case catalogue.Float:
		return ref + "::float8"
	case catalogue.TimestampTZ:
		return "(" + ref + " AT TIME ZONE 'UTC')::text"
	case catalogue.Array:
		return "to_json(" + ref + ")::text"
	case catalogue.JSON:
		return document(c, ref) + "::text"
	}
	return ref + "::text"
}
