package lens

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// A raw value is a column's value as the database has it, and not as lenses compare
// it: what keys and relations are followed by. What raw reads, bindRaw gives back
// as the same value of the same type.

// raw: whole numbers come as they are, without a detour through text.
func (postgresDialect) raw(c *catalogue.Column, ref string) string {
	if c.Kind == catalogue.Int || c.Kind == catalogue.BigInt {
		return ref
	}
	return ref + "::text"
}

func (postgresDialect) bindRaw(w *writer, c *catalogue.Column, v any) string {
	if n, whole := v.(int64); whole {
		v = strconv.FormatInt(n, 10)
	}
	return w.bind(v) + "::text::" + c.Type
}

func (sqliteDialect) raw(_ *catalogue.Column, ref string) string {
	return "+" + ref // no column any more, whose declared type the driver would act on
}

func (sqliteDialect) bindRaw(w *writer, _ *catalogue.Column, v any) string { return w.bind(v) }

func (mysqlDialect) raw(c *catalogue.Column, ref string) string {
	switch c.Kind {
	case catalogue.Text, catalogue.Enum:
		return ref
	case catalogue.Bytes:
		return "HEX(" + ref + ")"
	case catalogue.Int:
		if strings.HasPrefix(c.Type, "year") {
			ref = "(" + ref + " + 0)"
		}
	case catalogue.Float:
		ref = "(" + ref + " + 0E0)"
	case catalogue.Bool:
		ref = "(" + ref + " + 0)" // a bit as a number
	}
	return "CAST(" + ref + " AS CHAR)"
}

func (mysqlDialect) bindRaw(w *writer, c *catalogue.Column, v any) string {
	value := w.bind(v)
	switch {
	case c.Encoding == "" && c.Kind != catalogue.Int && c.Kind != catalogue.BigInt && c.Kind != catalogue.Bool:
	case c.Unsigned:
		return "CAST(" + value + " AS UNSIGNED)"
	default:
		return "CAST(" + value + " AS SIGNED)"
	}
	switch c.Kind {
	case catalogue.Decimal:
		// As many digits before the point as the column may have, or a large one becomes
		// the largest of the type, and comes again and again.
		return "CAST(" + value + " AS DECIMAL(65," + itoa(c.Scale) + "))"
	case catalogue.Float:
		return "(" + value + " + 0E0)"
	case catalogue.Bytes:
		return "UNHEX(" + value + ")"
	case catalogue.Date:
		return "CAST(" + value + " AS DATE)"
	case catalogue.Time:
		return "CAST(" + value + " AS TIME(6))"
	case catalogue.Timestamp, catalogue.TimestampTZ:
		return "CAST(" + value + " AS DATETIME(6))"
	}
	return value
}

// given writes a table of raw values, numbered from 0: what rows of a relation are
// looked up by. Its columns are n, v0, v1 and so on.
func (w *writer) given(columns []*catalogue.Column, values [][]any) string {
	names := []string{"n"}
	for i := range columns {
		names = append(names, "v"+itoa(i))
	}
	head := "given (" + strings.Join(names, ", ") + ") AS ("
	if w.speaks == catalogue.PostgreSQL {
		// Arrays keep the statement the same for any number of values.
		casts, arrays, texts := []string{"(o - 1)::int"}, make([]string, len(columns)), make([]string, len(columns))
		for i, c := range columns {
			list := make([]string, len(values))
			for j := range values {
				list[j] = fmt.Sprint(values[j][i])
			}
			arrays[i], texts[i] = w.bind(list)+"::text[]", "u"+itoa(i)
			casts = append(casts, texts[i]+"::"+c.Type)
		}
		return head + "SELECT " + strings.Join(casts, ", ") + " FROM unnest(" + strings.Join(arrays, ", ") +
			") WITH ORDINALITY AS u (" + strings.Join(append(texts, "o"), ", ") + "))"
	}
	rows := make([]string, len(values))
	for j := range values {
		cells := []string{itoa(j)}
		for i, c := range columns {
			cells = append(cells, w.dialect.bindRaw(w, c, values[j][i]))
		}
		rows[j] = strings.Join(cells, ", ")
	}
	if w.speaks == catalogue.MySQL {
		// VALUES is written differently by MySQL and MariaDB.
		return head + "SELECT " + strings.Join(rows, " UNION ALL SELECT ") + ")"
	}
	return head + "VALUES (" + strings.Join(rows, "), (") + "))"
}

// sameAs is a given value as it is compared with a column: MySQL must be told by
// which of two collations.
func (w *writer) sameAs(c *catalogue.Column, given string) string {
	if w.speaks != catalogue.MySQL || c.Collation == "" || c.Kind != catalogue.Text && c.Kind != catalogue.Enum {
		return given
	}
	charset, _, _ := strings.Cut(c.Collation, "_")
	return "CONVERT(" + given + " USING " + charset + ") COLLATE " + c.Collation
}
