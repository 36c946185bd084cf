package lens_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// moments are what the rows of encoded hold, 1 to 4; row 5 holds null, 6 and 7 what is
// no instant.
var moments = []string{"2026-11-30T09:59:59Z", "2026-11-30T10:00:00Z", "2026-11-30T10:00:01Z", "1969-12-31T23:59:58Z"}

// Instants that are numbers, or text that Go wrote, are instants: in comparisons, in
// orders, in rows and in memory. What does not fit is null.
func TestEncodings(t *testing.T) {
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			columns := []string{"s", "ms"}
			d.exec(t, "CREATE TABLE encoded (id bigint NOT NULL PRIMARY KEY, s bigint, ms bigint)")
			if d.dialect == catalogue.SQLite {
				d.exec(t, "DROP TABLE encoded")
				d.exec(t, "CREATE TABLE encoded (id bigint NOT NULL PRIMARY KEY, s DATETIME, ms INTEGER, g DATETIME, z TEXT)")
				columns = []string{"s", "ms", "g", "z"}
			}
			for i, text := range moments {
				at := parseTime(t, text)
				values := fmt.Sprintf("%d, %d, %d", i+1, at.Unix(), at.UnixMilli())
				if d.dialect == catalogue.SQLite {
					// The driver writes the time as it does when a program gives it one.
					d.exec(t, "INSERT INTO encoded VALUES ("+values+", ?, ?)", at.In(time.FixedZone("CEST", 7200)), text)
					continue
				}
				d.exec(t, "INSERT INTO encoded VALUES ("+values+")")
			}
			d.exec(t, "INSERT INTO encoded (id, s) VALUES (5, NULL)")
			d.exec(t, "INSERT INTO encoded (id, s, ms) VALUES (6, 9223372036854775807, -9223372036854775808), (7, 253402300800, -62135596800001)")
			if d.dialect == catalogue.SQLite {
				d.exec(t, "UPDATE encoded SET g = 'yesterday', z = '2026-11-30 10:00:00' WHERE id = 6")
				d.exec(t, "UPDATE encoded SET s = '2026-11-30', ms = 1.5, g = '2026-11-30 10:00:00', z = 1764496800 WHERE id = 7")
			}
			model := "tables: {encoded: {columns: {s: {encoding: unix_seconds}, ms: {kind: timestamptz, encoding: unix_millis}, g: {encoding: go_time}, z: {encoding: rfc3339}}}}"
			if d.dialect != catalogue.SQLite {
				model = strings.Replace(model, ", g: {encoding: go_time}, z: {encoding: rfc3339}", "", 1)
			}
			shop := shopDatabase{d, d.open(t, parseModel(t, model))}
			for _, column := range columns {
				t.Run(column, func(t *testing.T) { shop.testEncoded(t, column) })
			}
		})
	}
}

func parseTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func (s shopDatabase) testEncoded(t *testing.T, column string) {
	all := s.ask(t, `{"from": "encoded", "where": {"everyone": true}, "select": ["id", "`+column+`"], "order": ["-`+column+`", "id"]}`)
	var want []string
	for _, id := range []int{3, 2, 1, 4} {
		want = append(want, marshal(t, map[string]any{"id": strconv.Itoa(id), column: moments[id-1]}))
	}
	for _, id := range []int{5, 6, 7} {
		want = append(want, marshal(t, map[string]any{"id": strconv.Itoa(id), column: nil}))
	}
	if got := pages(t, all, s.source, 1); !slices.Equal(got, want) {
		t.Errorf("rows %s\nwant %s", got, want)
	}
	p, err := all.Page(t.Context(), s.source, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]string{
		`{"eq": "2026-11-30T10:00:00Z"}`: "2", `{"eq": "2026-11-30T12:00:00+02:00"}`: "2", `{"eq": "2026-11-30T10:00:00.5Z"}`: "",
		`{"ne": "2026-11-30T10:00:00Z"}`: "134567", `{"ne": "2026-11-30T10:00:00.5Z"}`: "1234567",
		`{"in": ["2026-11-30T10:00:00.5Z", "2026-11-30T10:00:01Z"]}`: "3",
		`{"lt": "2026-11-30T10:00:00Z"}`:                             "14", `{"lt": "2026-11-30T10:00:00.5Z"}`: "124",
		`{"lte": "2026-11-30T10:00:00Z"}`: "124", `{"lte": "2026-11-30T10:00:00.5Z"}`: "124",
		`{"gt": "2026-11-30T10:00:00Z"}`: "3", `{"gt": "2026-11-30T09:59:59.5Z"}`: "23",
		`{"gte": "2026-11-30T10:00:00Z"}`: "23", `{"gte": "2026-11-30T09:59:59.5Z"}`: "23",
		`{"between": ["2026-11-30T09:59:59.5Z", "2026-11-30T10:00:00.5Z"]}`: "2",
		`{"lt": "1969-12-31T23:59:58.5Z"}`:                                  "4", `{"lt": "1969-12-31T23:59:58Z"}`: "", `{"gt": "1969-12-31T23:59:57.5Z"}`: "1234",
		`{"gte": "now-1s"}`: "23", `{"isNull": true}`: "567", `{"isNull": false}`: "1234",
	} {
		q, err := s.query(t, "encoded", `{"`+column+`": `+where+`}`, lens.Scope{}, lens.Bindings{Now: worldNow})
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if got := s.ids(t, q); got != want {
			statement, args := lens.CountSQL(q)
			t.Errorf("%s: %q, want %q\n%s %v", where, got, want, statement, args)
		}
		memory := map[string]bool{}
		for _, row := range p.Rows {
			yes, err := q.Matches(row)
			if err != nil {
				t.Fatal(err)
			}
			memory[row["id"].(string)] = yes
		}
		for id := range memory {
			if memory[id] != strings.Contains(want, id) {
				t.Errorf("%s: memory says %t of %s", where, memory[id], id)
			}
		}
	}
	schema := fmt.Sprint(all.Schema())
	if !strings.Contains(schema, column+":map[format:date-time type:[string null]]") {
		t.Errorf("schema %s", schema)
	}
}
