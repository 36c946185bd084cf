package lens_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
)

// truths are the rows of the truth table in README.md. country is 'NO', 'SE' or
// null; of orders a row has none, one that is 5, one that is 100, or both.
var truths = struct{ fields, relations []string }{
	fields: []string{
		`{"country": {"eq": "NO"}}`, `{"country": {"ne": "NO"}}`, `{"not": {"country": {"eq": "NO"}}}`,
		`{"country": {"in": ["NO"]}}`, `{"country": {"notIn": ["NO"]}}`, `{"country": {"in": []}}`,
		`{"country": {"gt": "O"}}`, `{"not": {"country": {"gt": "O"}}}`, `{"country": {"lte": "O"}}`,
		`{"country": {"contains": "O"}}`, `{"not": {"country": {"contains": "O"}}}`,
		`{"country": {"isNull": true}}`, `{"country": {"isNull": false}}`, `{"any": []}`, `{"everyone": true}`,
	},
	relations: []string{
		`{"orders": {"some": {"total": {"gte": 100}}}}`, `{"orders": {"none": {"total": {"gte": 100}}}}`, `{"not": {"orders": {"some": {"total": {"gte": 100}}}}}`,
		`{"orders": {"every": {"total": {"gte": 100}}}}`, `{"not": {"orders": {"every": {"total": {"gte": 100}}}}}`,
		`{"orders": {"some": {"everyone": true}}}`, `{"orders": {"none": {"everyone": true}}}`,
	},
}

// truthTable is the table of README.md, as memory has it.
func truthTable(t *testing.T) string {
	t.Helper()
	order := func(total string) lens.Row { return lens.Row{"total": total} }
	field := []lens.Row{{"country": "NO"}, {"country": "SE"}, {"country": nil}}
	related := []lens.Row{{"orders": []lens.Row{}}, {"orders": []lens.Row{order("5")}}, {"orders": []lens.Row{order("100")}}, {"orders": []lens.Row{order("5"), order("100")}}}
	var b strings.Builder
	write := func(head string, wheres []string, rows []lens.Row) {
		b.WriteString("| where | " + head + " |\n|---|" + strings.Repeat("---|", len(rows)) + "\n")
		for _, where := range wheres {
			q, err := checked(t, lensOf(where), nil)
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			b.WriteString("| `" + where + "` |")
			for _, row := range rows {
				yes, err := q.Matches(row)
				if err != nil {
					t.Fatalf("%s: %v", where, err)
				}
				b.WriteString(map[bool]string{true: " yes |", false: " – |"}[yes])
			}
			b.WriteString("\n")
		}
	}
	write("NO | SE | null", truths.fields, field)
	b.WriteString("\n")
	write("no orders | 5 | 100 | 5 and 100", truths.relations, related)
	return b.String()
}

var update = flag.Bool("update", false, "write the truth table into README.md")

// TestVerifyTruthTable compares the table of README.md with what the code does;
// -update writes it.
func TestVerifyTruthTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- truth table: generated -->\n", "<!-- end of truth table -->"
	before, rest, found := strings.Cut(string(text), begin)
	old, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("README.md has no place for the truth table")
	}
	table := truthTable(t)
	switch {
	case old == table:
	case *update:
		if err := os.WriteFile("README.md", []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("README.md has another truth table; run the test with -update. It must be\n\n%s", table)
	}
}

// The databases say what the table says.
func (s shopDatabase) testTruthTable(t *testing.T) {
	everyone := "1234567"
	for _, where := range append(truths.fields, truths.relations...) {
		q, err := s.query(t, "users", where, lens.Scope{}, lens.Bindings{})
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		country := map[rune]any{'1': "NO", '2': "SE", '3': nil, '4': "NO", '5': nil, '6': "SE", '7': "no"}
		orders := map[rune][]lens.Row{
			'1': {{"total": "100.00"}, {"total": "5.50"}}, '2': {{"total": "7.00"}}, '4': {{"total": "100.00"}, {"total": nil}},
		}
		want := ""
		for _, id := range everyone {
			yes, err := q.Matches(lens.Row{"country": country[id], "orders": orders[id]})
			if err != nil {
				t.Fatal(err)
			}
			if yes {
				want += string(id)
			}
		}
		if got := s.ids(t, q); got != want {
			t.Errorf("%s: %q, memory says %q", where, got, want)
		}
		not, err := s.query(t, "users", `{"not": `+where+`}`, lens.Scope{}, lens.Bindings{})
		if err != nil {
			continue // the negation of nobody, refused
		}
		if got := s.ids(t, not); len(got)+len(want) != len(everyone) {
			t.Errorf("%s: %q, and its negation %q", where, want, got)
		}
	}
}
