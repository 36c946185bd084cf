package lens_test

import (
	"fmt"
	"testing"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// Nobody gets another's related rows, whatever the values are that lead to them: none may be
// written like another (numbers that are no characters, texts with the marks between values).
func TestRelatedRowsBelongToTheirOwn(t *testing.T) {
	keys := map[string][]string{
		"bigint":      {"-9007199254740993", "-2", "-1", "0", "1", "10", "55296", "57343", "65533", "1114111", "1114112", "9007199254740993", "9223372036854775807"},
		"varchar(40)": {"''", "'a'", "'a,b'", "'a, 1 b'", "'\uFFFD'", "'int64 1 1,'", "'%q'", "'a\"'"},
	}
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			n := 0
			for kind, values := range keys {
				n++
				one, many := fmt.Sprintf("one%d", n), fmt.Sprintf("many%d", n)
				d.exec(t, "CREATE TABLE "+one+" (id "+kind+" NOT NULL PRIMARY KEY)")
				d.exec(t, "CREATE TABLE "+many+" (n integer NOT NULL PRIMARY KEY, "+one+"_id "+kind+" NOT NULL, FOREIGN KEY ("+one+"_id) REFERENCES "+one+" (id))")
				for i, v := range values {
					d.exec(t, "INSERT INTO "+one+" VALUES ("+v+")")
					for part := range 2 {
						d.exec(t, fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", many, 2*i+part, v))
					}
				}
				shop := shopDatabase{d, d.open(t, catalogue.Model{})}
				for _, text := range []string{
					`{"from": "` + one + `", "where": {"everyone": true}, "select": ["id", {"` + many + `": {"select": ["` + one + `_id", "n"]}}]}`,
					`{"from": "` + many + `", "where": {"everyone": true}, "select": ["` + one + `_id", {"` + one + `": {"select": ["id", {"` + many + `": {"select": ["` + one + `_id"]}}]}}]}`,
				} {
					for row, err := range shop.ask(t, text).Rows(t.Context(), d.source, "") {
						if err != nil {
							t.Fatal(err)
						}
						id := row["id"]
						related, isMany := row[many].([]lens.Row)
						if !isMany {
							parent := row[one].(lens.Row)
							if id = row[one+"_id"]; parent["id"] != id {
								t.Errorf("%s %v leads to %v", kind, id, parent["id"])
							}
							related = parent[many].([]lens.Row)
						}
						if len(related) != 2 {
							t.Errorf("%s %v has %d related rows", kind, id, len(related))
						}
						for _, r := range related {
							if r[one+"_id"] != id {
								t.Errorf("%s %v has a row of %v", kind, id, r[one+"_id"])
							}
						}
					}
				}
			}
		})
	}
}
