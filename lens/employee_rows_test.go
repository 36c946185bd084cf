package lens_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/lens"
)

// textRows reads what is left of a result, each cell in one form whatever the driver
// gives, null as "".
func textRows(t *testing.T, rows *sql.Rows) [][]string {
	t.Helper()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for rows.Next() {
		raw, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range raw {
			into[i] = &raw[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		line := make([]string, len(raw))
		for i, v := range raw {
			line[i] = cellText(v)
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// cellText writes numbers without the zeros at their end, which SQLite does not keep.
func cellText(v any) string {
	text := fmt.Sprint(v)
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		text = string(v)
	case time.Time:
		return v.Format(time.DateTime)
	case float64:
		bits := 64
		if float64(float32(v)) == v {
			bits = 32 // PostgreSQL's driver gives its floats of 32 bits so
		}
		return strconv.FormatFloat(v, 'f', -1, bits)
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil && strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// flat writes a row as a join would: a line for each related row, one with nulls where
// there is none. Paths lead to fields, such as department.head.location.
func flat(row lens.Row, paths []string) [][]string {
	lines := [][]string{make([]string, len(paths))}
	inner := map[string][]int{}
	var relations []string
	for i, path := range paths {
		name, _, nested := strings.Cut(path, ".")
		if !nested {
			lines[0][i] = cellText(row[name])
			continue
		}
		if inner[name] == nil {
			relations = append(relations, name)
		}
		inner[name] = append(inner[name], i)
	}
	for _, name := range relations {
		var rows []lens.Row
		switch related := row[name].(type) {
		case lens.Row:
			rows = []lens.Row{related}
		case []lens.Row:
			rows = related
		}
		if len(rows) == 0 {
			rows = []lens.Row{{}}
		}
		lines = joined(lines, rows, paths, inner[name], name+".")
	}
	return lines
}

func joined(lines [][]string, rows []lens.Row, paths []string, at []int, prefix string) [][]string {
	inner := make([]string, len(at))
	for i, place := range at {
		inner[i] = strings.TrimPrefix(paths[place], prefix)
	}
	var all [][]string
	for _, line := range lines {
		for _, row := range rows {
			for _, cells := range flat(row, inner) {
				wider := slices.Clone(line)
				for i, place := range at {
					wider[place] = cells[i]
				}
				all = append(all, wider)
			}
		}
	}
	return all
}
