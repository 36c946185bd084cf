package lens_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// ask checks and binds a whole lens in JSON.
func (s shopDatabase) ask(t *testing.T, text string) *lens.Query {
	t.Helper()
	l, err := lens.ParseJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	plan, err := l.Check(s.catalogue, lens.Scope{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	q, err := plan.Bind(lens.Bindings{Now: worldNow})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return q
}

// pages reads all pages of a size, and returns the rows as JSON.
func pages(t *testing.T, q *lens.Query, s *source.Source, size int) []string {
	t.Helper()
	var rows []string
	var after lens.Cursor
	for n := 0; ; n++ {
		p, err := q.Page(t.Context(), s, after, size)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range p.Rows {
			text, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, string(text))
		}
		if p.Next == "" {
			return rows
		}
		if len(p.Rows) != size || n > 100 {
			t.Fatalf("page %d has %d rows and goes on", n, len(p.Rows))
		}
		after = p.Next
	}
}

func (s shopDatabase) testPages(t *testing.T) {
	for order, want := range map[string]string{
		``:                                "1234567",
		`["-id"]`:                         "7654321",
		`["country"]`:                     "1426735", // NO NO SE SE no, then null
		`["-country"]`:                    "7261435",
		`["-country", "-id"]`:             "7624153",
		`["organization_id", "-country"]`: "2143765",
	} {
		if order != "" {
			order = `, "order": ` + order
		}
		q := s.ask(t, `{"from": "users", "where": {"everyone": true}, "select": ["id"]`+order+`}`)
		for _, size := range []int{1, 2, 3, 7, 50} {
			var ids strings.Builder
			for _, row := range pages(t, q, s.source, size) {
				ids.WriteString(strings.Trim(row, `{"id:}`))
			}
			if ids.String() != want {
				t.Errorf("%s in pages of %d: %s, want %s", order, size, ids.String(), want)
			}
		}
	}
}

func (s shopDatabase) testRelated(t *testing.T) {
	for text, want := range map[string][]string{
		`{"from": "users", "where": {"id": {"lte": 5}}, "select": ["id", {"organization": {"select": ["name"]}}]}`: {
			`{"id":"1","organization":{"name":"Holt"}}`, `{"id":"2","organization":{"name":"Holt"}}`,
			`{"id":"3","organization":{"name":"Berg"}}`, `{"id":"4","organization":{"name":"Berg"}}`, `{"id":"5","organization":null}`,
		},
		`{"from": "users", "where": {"id": {"in": [1, 4, 5]}}, "select": ["id", {"orders": {"select": ["total"], "order": ["-total"], "limit": 1}}]}`: {
			`{"id":"1","orders":[{"total":"100.00"}]}`, `{"id":"4","orders":[{"total":"100.00"}]}`, `{"id":"5","orders":[]}`,
		},
		`{"from": "users", "where": {"id": {"in": [1, 4]}}, "select": [{"orders": {"select": ["id"], "where": {"total": {"lt": 50}}}}]}`: {
			`{"orders":[{"id":"2"}]}`, `{"orders":[]}`,
		},
		// Through a table that belongs to neither, and back again.
		`{"from": "users", "where": {"id": {"lte": 3}}, "select": [{"tags": {"select": ["label"], "order": ["label"]}}]}`: {
			`{"tags":[{"label":"new"},{"label":"vip"}]}`, `{"tags":[{"label":"new"}]}`, `{"tags":[]}`,
		},
		`{"from": "users", "where": {"id": {"eq": 1}}, "select": [{"organization": {"select": [{"users": {"select": ["id", {"orders": {"select": ["id"]}}]}}]}}]}`: {
			`{"organization":{"users":[{"id":"1","orders":[{"id":"1"},{"id":"2"}]},{"id":"2","orders":[{"id":"3"}]}]}}`,
		},
	} {
		q := s.ask(t, text)
		for _, size := range []int{1, 50} {
			got := pages(t, q, s.source, size)
			if !slices.Equal(got, want) {
				t.Errorf("%s\n gives %v\n want  %v", text, got, want)
			}
		}
	}
}

// A scope's rows do not exist, also where a relation passes through them.
func (s shopDatabase) testRelatedScope(t *testing.T) {
	l, err := lens.ParseJSON([]byte(`{"from": "users", "where": {"id": {"lte": 2}}, "select": ["id", {"orders": {"select": ["id"]}}, {"organization": {"select": ["name"]}}, {"tags": {"select": ["id"]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	scope := lens.Scope{Where: map[string]lens.Condition{
		"orders":        lens.Compare{Field: "id", Op: lens.Ne, Operand: lens.Operand{One: lens.Value{Literal: json.Number("1")}}},
		"organizations": lens.Any{},
		"user_tags":     lens.Compare{Field: "tag_id", Op: lens.Eq, Operand: lens.Operand{One: lens.Value{Literal: json.Number("2")}}},
	}}
	plan, err := l.Check(s.catalogue, scope)
	if err != nil {
		t.Fatal(err)
	}
	q, err := plan.Bind(lens.Bindings{Now: worldNow})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(pages(t, q, s.source, 50), "")
	want := `{"id":"1","orders":[{"id":"2"}],"organization":null,"tags":[{"id":"2"}]}{"id":"2","orders":[{"id":"3"}],"organization":null,"tags":[{"id":"2"}]}`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func (s shopDatabase) testCursors(t *testing.T) {
	everyone := `{"from": "users", "where": {"everyone": true}, "select": ["id"], "order": %s}`
	q := s.ask(t, fmt.Sprintf(everyone, `["country"]`))
	p, err := q.Page(t.Context(), s.source, "", 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]*lens.Query{
		"another order":     s.ask(t, fmt.Sprintf(everyone, `["-country"]`)),
		"no order":          s.ask(t, `{"from": "users", "where": {"everyone": true}, "select": ["id"]}`),
		"another table":     s.ask(t, `{"from": "orders", "where": {"everyone": true}, "select": ["id"], "order": ["total"]}`),
		"another key, view": s.ask(t, `{"from": "norwegians", "where": {"everyone": true}, "select": ["id"]}`),
	} {
		if _, err := other.Page(t.Context(), s.source, p.Next, 2); !errors.Is(err, lens.ErrCursor) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []lens.Cursor{"x", "e30", p.Next[1:], p.Next + "A"} {
		if _, err := q.Page(t.Context(), s.source, bad, 2); !errors.Is(err, lens.ErrCursor) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, size := range []int{-1, lens.MaxPage + 1} {
		if _, err := q.Page(t.Context(), s.source, "", size); err == nil {
			t.Errorf("a page of %d rows is read", size)
		}
	}
	if row, found, err := s.ask(t, fmt.Sprintf(everyone, `["-id"]`)).First(t.Context(), s.source); err != nil || !found || row["id"] != "7" {
		t.Errorf("first: %v %t %v", row, found, err)
	}
	if _, found, err := s.ask(t, `{"from": "users", "where": {"any": []}, "select": ["id"]}`).First(t.Context(), s.source); err != nil || found {
		t.Errorf("first of none: %t %v", found, err)
	}
}

// Whatever a table's key is, its pages give each row once.
func TestPagesFollowKeysOfEachKind(t *testing.T) {
	keys := map[string]struct {
		types  [3]string // PostgreSQL, MySQL, SQLite; "" where there is none
		values []string
	}{
		"integers":   {[3]string{"integer", "integer", "integer"}, []string{"-7", "0", "3", "2147483647", "10"}},
		"large":      {[3]string{"bigint", "bigint unsigned", "integer"}, []string{"9007199254740993", "9007199254740992", "9007199254740994", "1"}},
		"decimals":   {[3]string{"numeric(20,4)", "decimal(20,4)", ""}, []string{"1.5", "1.4999", "123456789012.0001", "123456789012.0002"}},
		"text":       {[3]string{"varchar(40)", "varchar(40)", "text"}, []string{"'a'", "'B'", "'c'", "'Åq'", "'å2'", "'a b'", "'%'", "'ß'", "'ab'", "''"}},
		"fixed text": {[3]string{"char(5)", "char(5)", ""}, []string{"'a'", "'ab'", "'b'"}},
		"uuids":      {[3]string{"uuid", "uuid", ""}, []string{"'0190a5d2-7c1f-7000-8000-000000000001'", "'0190A5D2-7C1F-7000-8000-0000000000FF'", "'ffffffff-7c1f-7000-8000-000000000001'"}},
		"dates":      {[3]string{"date", "date", ""}, []string{"'2026-01-31'", "'1999-12-31'", "'2026-02-01'"}},
		"moments":    {[3]string{"timestamptz", "timestamp(6)", ""}, []string{"'2026-01-31 10:00:00.000001'", "'2026-01-31 10:00:00.000002'", "'2026-01-31 10:00:00'"}},
		"wall clock": {[3]string{"timestamp", "datetime(6)", ""}, []string{"'2026-01-31 10:00:00.000001'", "'2026-01-31 10:00:00.000002'", "'2026-01-31 10:00:00'"}},
		"bytes":      {[3]string{"bytea", "varbinary(10)", "blob"}, []string{"$xff", "$x00", "$x0001", "$x"}},
		"any case":   {[3]string{"", "varchar(20) COLLATE utf8mb4_unicode_ci", "text COLLATE NOCASE"}, []string{"'B'", "'a'", "'C'", "'b2'"}},
	}
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			at := map[catalogue.Dialect]int{catalogue.PostgreSQL: 0, catalogue.MySQL: 1, catalogue.SQLite: 2}[d.dialect]
			n := 0
			for name, k := range keys {
				if k.types[at] == "" {
					continue
				}
				n++
				table := fmt.Sprintf("k%d", n)
				d.exec(t, "CREATE TABLE "+table+" (id "+k.types[at]+" NOT NULL, part integer NOT NULL, PRIMARY KEY (id, part))")
				d.exec(t, "CREATE TABLE "+table+"s (id "+k.types[at]+" NOT NULL PRIMARY KEY)")
				for _, v := range k.values {
					v = literalOf(d.dialect, v)
					d.exec(t, "INSERT INTO "+table+"s VALUES ("+v+")")
					d.exec(t, "INSERT INTO "+table+" VALUES ("+v+", 1), ("+v+", 2)")
				}
				shop := shopDatabase{d, d.open(t, catalogue.Model{})}
				for from, want := range map[string]int{table: 2 * len(k.values), table + "s": len(k.values)} {
					q := shop.ask(t, `{"from": "`+from+`", "where": {"everyone": true}, "select": ["id"`+map[bool]string{true: `, "part"`}[from == table]+`]}`)
					for _, size := range []int{1, 2, 100} {
						rows := pages(t, q, d.source, size)
						slices.Sort(rows)
						if len(rows) != want || len(slices.Compact(rows)) != want {
							t.Errorf("%s in pages of %d: %d rows, %d different, want %d", name, size, len(rows), len(slices.Compact(rows)), want)
						}
						if size == 1 {
							shop.forge(t, q, name, want)
						}
					}
				}
			}
		})
	}
}

func literalOf(d catalogue.Dialect, v string) string {
	hex, found := strings.CutPrefix(v, "$x")
	switch {
	case !found:
		return v
	case d == catalogue.PostgreSQL:
		return `'\x` + hex + `'`
	}
	return "x'" + hex + "'"
}

// The rule of a stream: what matches all the while is given once, whatever happens
// around it.
func TestStreamGivesEachRowOnceWhileOthersChange(t *testing.T) {
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			d.exec(t, "CREATE TABLE people (id bigint NOT NULL PRIMARY KEY, name varchar(20))")
			const stay = 9_000 // some of the statements of a stream are read ahead
			var values []string
			for i := range stay {
				values = append(values, fmt.Sprintf("(%d, 'stays')", 10*i))
			}
			d.exec(t, "INSERT INTO people VALUES "+strings.Join(values, ", "))
			shop := shopDatabase{d, d.open(t, catalogue.Model{})}
			q := shop.ask(t, `{"from": "people", "where": {"everyone": true}, "select": ["id", "name"], "order": ["name"]}`)
			seen, page := map[any]int{}, 0
			for p, err := range q.Stream(t.Context(), d.source, "") {
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range p.Rows {
					seen[row["id"]]++
				}
				// Before, behind and at the place where it stands; and the order changes.
				page++
				d.exec(t, fmt.Sprintf("INSERT INTO people VALUES (%d, 'new'), (%d, 'new'), (%d, 'new')", 10*page+1, 10_000*page+5, 60_000+10*page+1))
				d.exec(t, fmt.Sprintf("UPDATE people SET name = 'name %d' WHERE id < 7000", page))
			}
			for i := range stay {
				if n := seen[fmt.Sprint(10*i)]; n != 1 {
					t.Fatalf("row %d was given %d times", 10*i, n)
				}
			}
			for id, n := range seen {
				if n > 1 {
					t.Errorf("row %v was given %d times", id, n)
				}
			}
			if page < 9 {
				t.Errorf("%d pages", page)
			}
		})
	}
}

// Text is related as the database relates it, whatever case it ignores.
func TestRelationsByText(t *testing.T) {
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			text := map[catalogue.Dialect]string{
				catalogue.PostgreSQL: "varchar(20)", catalogue.MySQL: "varchar(20) COLLATE utf8mb4_unicode_ci", catalogue.SQLite: "text COLLATE NOCASE",
			}[d.dialect]
			d.exec(t, "CREATE TABLE teams (code "+text+" NOT NULL PRIMARY KEY, name varchar(20))")
			d.exec(t, "CREATE TABLE members (id bigint NOT NULL PRIMARY KEY, team "+text+", FOREIGN KEY (team) REFERENCES teams (code))")
			d.exec(t, "INSERT INTO teams VALUES ('Red', 'the red'), ('blue', 'the blue')")
			d.exec(t, "INSERT INTO members VALUES (1, 'Red'), (2, 'blue'), (4, NULL)")
			want := []string{`{"id":"1","team":{"name":"the red"}}`, `{"id":"2","team":{"name":"the blue"}}`}
			if d.dialect != catalogue.PostgreSQL {
				d.exec(t, "INSERT INTO members VALUES (3, 'RED')")
				want = append(want, `{"id":"3","team":{"name":"the red"}}`)
			}
			m, err := catalogue.ParseModel([]byte("tables: {members: {columns: {team: {name: team_code}}, relations: {belongs: {to: teams, on: {team: code}}}}}"))
			if err != nil {
				t.Fatal(err)
			}
			shop := shopDatabase{d, d.open(t, m)}
			q := shop.ask(t, `{"from": "members", "where": {"everyone": true}, "select": ["id", {"belongs": {"select": ["name"]}}]}`)
			want = append(want, `{"id":"4","team":null}`)
			got := strings.ReplaceAll(strings.Join(pages(t, q, d.source, 50), " "), "belongs", "team")
			for _, row := range want {
				if !strings.Contains(got, strings.ReplaceAll(row, `"id"`, `"id"`)) && !strings.Contains(got, reorder(row)) {
					t.Errorf("%s lacks %s", got, row)
				}
			}
		})
	}
}

// reorder writes the members of a row as JSON sorts them under the relation's name.
func reorder(row string) string {
	id, rest, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(row, "{"), "}"), ",")
	return "{" + rest + "," + id + "}"
}

// However many and large rows are, a page holds what it may, and leads on.
func TestPagesAreBoundedInBytesAndRelatedRows(t *testing.T) {
	d := databases(t)[2]
	d.exec(t, "CREATE TABLE a (id integer PRIMARY KEY, wide text GENERATED ALWAYS AS (hex(zeroblob(200000))))")
	d.exec(t, "CREATE TABLE b (id integer PRIMARY KEY, a_id integer REFERENCES a (id), wide text GENERATED ALWAYS AS (hex(zeroblob(50000))))")
	d.exec(t, "CREATE INDEX b_a ON b (a_id)")
	d.exec(t, "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 119) INSERT INTO a SELECT i FROM n")
	d.exec(t, "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 119999) INSERT INTO b SELECT i, i % 120 FROM n")
	shop := shopDatabase{d, d.open(t, catalogue.Model{})}
	for text, most := range map[string]int{
		`{"from": "a", "where": {"everyone": true}, "select": ["id", {"b": {"select": ["id"], "limit": 1000}}]}`: lens.MaxRelated / 1000,
		`{"from": "a", "where": {"everyone": true}, "select": ["id", "wide"]}`:                                   lens.PageBytes/400_000 + 1,
		`{"from": "a", "where": {"everyone": true}, "select": ["id"]}`:                                           120,
	} {
		q := shop.ask(t, text)
		seen, after := 0, lens.Cursor("")
		for {
			p, err := q.Page(t.Context(), d.source, after, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Rows) == 0 || len(p.Rows) > most {
				t.Errorf("%s: a page of %d rows, at most %d fit", text, len(p.Rows), most)
			}
			for _, row := range p.Rows {
				if b, wanted := row["b"]; wanted && len(b.([]lens.Row)) != 1000 {
					t.Fatalf("%v has %d related rows", row["id"], len(b.([]lens.Row)))
				}
				seen++
			}
			if after = p.Next; after == "" {
				break
			}
		}
		streamed := 0
		for _, err := range q.Rows(t.Context(), d.source, "") {
			if err != nil {
				t.Fatal(err)
			}
			streamed++
		}
		if seen != 120 || streamed != 120 {
			t.Errorf("%s: %d rows in pages and %d in a stream, of 120", text, seen, streamed)
		}
	}
	d.exec(t, "DELETE FROM b WHERE id >= 120 * 700")
	q := shop.ask(t, `{"from": "a", "where": {"id": {"gte": 7}}, "select": ["id", {"b": {"select": ["wide"], "limit": 1000}}]}`)
	if _, err := q.Page(t.Context(), d.source, "", 1); !errors.Is(err, lens.ErrTooManyRelated) {
		t.Errorf("a row with 70 MB of related rows: %v", err)
	}
}
