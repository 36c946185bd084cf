package lens_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// A key that stands twice, and numbers beyond what is compared: what the database finds is
// what the row says, and memory with it.
func TestOddJSONIsTheSameInMemory(t *testing.T) {
	t.Parallel()
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			d.exec(t, "CREATE TABLE docs (id INT NOT NULL PRIMARY KEY, j JSON)")
			texts := []string{
				`{"a": 1, "a": 2, "b": {"a": 5, "c": "x:y\\\" ", "a": 6}, "l": [{"a": {"a": 4}, "a": 3}, [1]]}`,
				`{"a": 1.79e308, "b": {"a": -1.79e308}, "l": []}`,
				`{"a": 2, "b": {"a": 0}, "l": [{"a": 3}]}`,
				`{"a": "\\\\", "a": ":", "b": {}, "l": []}`,
			}
			if d.dialect != catalogue.MySQL || d.server(t) == "MariaDB" {
				texts = append(texts, `{"a": 1e400, "b": {"a": -1e400}}`)
			}
			for i, text := range texts {
				if d.dialect == catalogue.MySQL {
					text = strings.ReplaceAll(text, `\`, `\\`)
				}
				d.exec(t, "INSERT INTO docs VALUES ("+fmt.Sprint(i)+", '"+text+"')")
			}
			c := d.open(t, catalogue.Model{})
			rows, err := lens.Rows(t.Context(), bindTo(t, lens.Where("docs", lens.Everyone{}).Selecting("id", "j"), c), d.source)
			if err != nil || len(rows) != len(texts) {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			for _, path := range [][]any{{"a"}, {"b", "a"}, {"l", 0, "a"}, {"b", "c"}, {"l", 0, "a", "a"}} {
				field := lens.Of("j").At(path...)
				for _, where := range []lens.Condition{
					field.Eq(1), field.Eq(2), field.Eq(3), field.Eq(4), field.Eq(5), field.Eq(6), field.Gt(0), field.Lt(0), field.Gte(6),
					field.Eq(":"), field.Eq(`\`), field.Eq(`x:y\" `),
				} {
					q := bindTo(t, lens.Where("docs", where).Selecting("id"), c)
					inMemory := int64(0)
					for _, row := range rows {
						yes, err := q.Matches(row)
						if err != nil {
							t.Fatal(err)
						}
						if yes {
							inMemory++
						}
					}
					if got, err := q.Count(t.Context(), d.source); err != nil || got != inMemory {
						t.Errorf("%v: the database counts %d (%v), memory %d", where, got, err, inMemory)
					}
				}
			}
		})
	}
}

// server is which of two servers speaks MySQL.
func (d *database) server(t *testing.T) string {
	t.Helper()
	var version string
	if err := d.db.QueryRowContext(t.Context(), "SELECT version()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(version, "MariaDB") {
		return "MariaDB"
	}
	return "MySQL"
}
