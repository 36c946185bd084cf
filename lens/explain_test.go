package lens_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

func TestALensIsOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"from": "users", "where": {"everyone": true}, "select": ["id"]}`: `id of users, every row`,
		`{"from": "users", "select": ["email", {"organization": {"select": ["name"]}}], "order": ["-id"], "params": {"org": {"kind": "bigint"}},
			"where": {"all": [{"organization_id": {"eq": {"param": "org"}}}, {"any": [{"country": {"in": ["NO", "SE"]}}, {"born": {"isNull": true}}]}]}}`: `email, organization (name) of users where organization_id is $org and (country is one of "NO", "SE" or born is null), by id downwards`,
		`{"from": "users", "select": ["id", {"orders": {"select": ["id"], "where": {"total": {"gt": 5}}, "order": ["-total"], "limit": 3}}],
			"where": {"not": {"orders": {"some": {"total": {"between": [1, 2]}}}}}}`: `id, orders (id where total is above 5 by total downwards, at most 3) of users where not (there are orders where total is between 1 and 2)`,
		`{"from": "users", "select": ["id"], "where": {"prefs": {"path": ["mail", 0], "ne": true}, "email": {"contains": "x", "ignoreCase": true}}}`: `id of users where prefs.mail[0] is not true and email contains "x" in any case`,
		`{"from": "users", "select": ["id"], "where": {"id": {"in": [1,2,3,4,5,6,7]}}}`:                                                              `id of users where id is one of 1, 2, 3, 4, 5, … (7 in all)`,
		`{"from": "users", "select": ["id"], "where": {"any": []}}`:                                                                                  `id of users where never`,
	} {
		l, err := lens.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := l.String(); got != want {
			t.Errorf("%s\n is  %s\nwant %s", text, got, want)
		}
	}
}

func (s shopDatabase) testExplain(t *testing.T) {
	q := s.ask(t, `{"from": "users", "select": ["id"], "where": {"email": {"eq": "topsecret@rcv.test"}, "orders": {"some": {"total": {"gt": 1}}}}}`)
	e, err := q.Explain(t.Context(), s.source)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fmt.Sprint(e), "topsecret") || !strings.Contains(e.SQL, "users") || !strings.Contains(fmt.Sprint(e.Binds), "text of 18 bytes") {
		t.Errorf("%+v", e)
	}
	if known := s.dialect != catalogue.SQLite; known != (e.Rows >= 0) {
		t.Errorf("an estimate of %d rows", e.Rows)
	}
}

// A scan of a big table is warned of, and one that an index serves is not.
func TestExplainWarnsOfBigScans(t *testing.T) {
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			d.exec(t, "CREATE TABLE people (id integer NOT NULL PRIMARY KEY, name varchar(20), note varchar(20))")
			d.exec(t, "CREATE INDEX people_note ON people (note)")
			values := make([]string, 1000)
			for n := range 12 {
				for i := range values {
					values[i] = fmt.Sprintf("(%d, 'name %d', 'note %d')", 1000*n+i, i, 1000*n+i)
				}
				d.exec(t, "INSERT INTO people VALUES "+strings.Join(values, ", "))
			}
			switch d.dialect {
			case catalogue.MySQL:
				d.exec(t, "ANALYZE TABLE people")
			default:
				d.exec(t, "ANALYZE")
			}
			shop := shopDatabase{d, d.open(t, catalogue.Model{})}
			for where, warns := range map[string]bool{
				`{"name": {"eq": "name 7"}}`:                                true,
				`{"id": {"eq": 7}}`:                                         false,
				`{"note": {"eq": "note 7"}}`:                                false,
				`{"all": [{"id": {"lt": 3}}, {"name": {"contains": "7"}}]}`: false,
			} {
				e, err := shop.ask(t, `{"from": "people", "select": ["id"], "where": `+where+`}`).Explain(t.Context(), d.source)
				if err != nil {
					t.Fatal(err)
				}
				if (len(e.Warnings) > 0) != warns {
					t.Errorf("%s: %q, want a warning = %t", where, e.Warnings, warns)
				}
				if d.dialect != catalogue.SQLite && (e.Rows < 0 || e.Rows > 24_000) {
					t.Errorf("%s: an estimate of %d rows", where, e.Rows)
				}
			}
		})
	}
}

// Rows leave as the same JSON from each database, in the select's order, and as
// their schema says.
func (s shopDatabase) testJSON(t *testing.T) {
	q := s.ask(t, `{"from": "users", "select": ["prefs", "id", {"orders": {"select": ["total", "id"]}}, "born", {"organization": {"select": ["name"]}}], "where": {"id": {"in": [1, 5]}}}`)
	p, err := q.Page(t.Context(), s.source, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"prefs":{"langs":["nb","en"],"mail":{"weekly":true}},"id":"1","orders":[{"total":"100.00","id":"1"},{"total":"5.50","id":"2"}],"born":null,"organization":{"name":"Holt"}}`,
		`{"prefs":null,"id":"5","orders":[],"born":null,"organization":null}`,
	}
	for i, row := range p.Rows {
		got, err := q.AppendJSON(nil, row)
		text := string(got)
		if err != nil || text != want[i] {
			t.Errorf("%s, %v\nwant %s", text, err, want[i])
		}
	}
	delete(p.Rows[0], "born")
	if _, err := q.AppendJSON(nil, p.Rows[0]); err == nil || !strings.Contains(err.Error(), "born") {
		t.Errorf("a row without a field is written: %v", err)
	}
	schema := q.Schema()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"required":["prefs","id","orders","born","organization"]`, `"additionalProperties":false`, `"maxItems":100`,
		`"born":{"format":"date","type":["string","null"]}`, `"organization":{"additionalProperties":false,"properties":{"name":{"type":["string","null"]}},"required":["name"],"type":["object","null"]}`,
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the schema lacks %s:\n%s", part, text)
		}
	}
	id := schema["properties"].(map[string]any)["id"].(map[string]any)["type"]
	if nullable := s.dialect == catalogue.SQLite; !nullable && id != "string" || nullable && !reflect.DeepEqual(id, []string{"string", "null"}) {
		t.Errorf("the key's type is %v", id)
	}
}
