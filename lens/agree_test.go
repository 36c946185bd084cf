package lens_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// The three databases and the evaluator in memory agree on which rows a lens
// yields, and a filter and its negation add up to everyone, for generated
// schemas, data and lenses.
func TestDatabasesAndMemoryAgree(t *testing.T) { agree(t, 2) }

// TestLongDatabasesAndMemoryAgree is the same with more schemas.
func TestLongDatabasesAndMemoryAgree(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("set POSTLEDGER_LONG=1: it takes minutes")
	}
	agree(t, 100)
}

var worldNow = time.Date(2026, 11, 30, 10, 0, 0, 123_000_000, time.UTC)

func agree(t *testing.T, worlds int) {
	for seed := range worlds {
		t.Run(fmt.Sprint("world", seed), func(t *testing.T) {
			w := newWorld(t, uint64(seed))
			w.sameRows(t)
			refused, asked := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				where := w.draw(rt, "people", 3)
				asked++
				if !w.compare(t, rt, where) {
					refused++
				}
			})
			if refused*2 > asked {
				t.Errorf("%d of %d lenses were refused: the generator says nothing", refused, asked)
			}
		})
	}
}

// sameRows reads every row back: what a lens reads is what was written.
func (w *world) sameRows(t *testing.T) {
	t.Helper()
	for _, table := range worldTables {
		names := []any{"id"}
		for _, s := range w.columns[table] {
			names = append(names, s.name)
		}
		l := lens.Where(table, lens.Everyone{}).Selecting(names...)
		w.each(t, func(d *database, c *catalogue.Catalogue) {
			got, err := lens.Rows(t.Context(), bindTo(t, l, c), d.source)
			if err != nil {
				t.Fatalf("%s: %v", d.dialect, err)
			}
			if len(got) != len(w.rows[table]) {
				t.Fatalf("%s: %s has %d rows, want %d", d.dialect, table, len(got), len(w.rows[table]))
			}
			for _, row := range got {
				want := w.rows[table][atoi(row["id"].(string))-1]
				for _, s := range w.columns[table] {
					if !sameValue(s, row[s.name], want[s.name]) {
						t.Errorf("%s: %s.%s is %#v, want %#v", d.dialect, table, s.name, row[s.name], want[s.name])
					}
				}
			}
		})
	}
}

// sameValue compares what is read with what was written. SQLite keeps no zeros
// at the end of a decimal, and only binary JSON keeps no form of a number.
func sameValue(s sort, got, want any) bool {
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	switch s.kind {
	case catalogue.Decimal:
		trim := func(v any) string {
			text := v.(string)
			if strings.Contains(text, ".") {
				text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
			}
			return text
		}
		return trim(got) == trim(want)
	case catalogue.JSON:
		return fmt.Sprint(numbersAsFloats(got)) == fmt.Sprint(numbersAsFloats(want))
	}
	return reflect.DeepEqual(got, want)
}

func numbersAsFloats(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		return f
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = numbersAsFloats(v[i])
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name := range v {
			object[name] = numbersAsFloats(v[name])
		}
		return object
	}
	return v
}

func bindTo(t *testing.T, l lens.Lens, c *catalogue.Catalogue) *lens.Query {
	t.Helper()
	q, err := tryBind(l, c)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func tryBind(l lens.Lens, c *catalogue.Catalogue) (*lens.Query, error) {
	plan, err := l.Check(c, lens.Scope{})
	if err != nil {
		return nil, err
	}
	return plan.Bind(lens.Bindings{Now: worldNow})
}

// compare asks memory and every database. It tells whether the lens was good.
func (w *world) compare(t *testing.T, rt *rapid.T, where lens.Condition) bool {
	l := lens.Where("people", where).Selecting("id")
	l.Zone = "Europe/Oslo"
	text, err := json.Marshal(l)
	if err != nil {
		rt.Fatal(err)
	}
	if l, err = lens.ParseJSON(text); err != nil {
		refusedForm := new(lens.Fault)
		if !errors.As(err, &refusedForm) {
			rt.Fatal(err)
		}
		return false
	}
	negated := l
	negated.Where = lens.Not{Condition: l.Where}
	for i, d := range w.databases {
		q, err := tryBind(l, w.catalogues[i])
		if err != nil {
			return false
		}
		var want []string
		for _, row := range w.rows["people"] {
			yes, err := q.Matches(row)
			if err != nil {
				rt.Fatalf("%s: %v", text, err)
			}
			if yes {
				want = append(want, row["id"].(string))
			}
		}
		got := w.ids(t, rt, q, d, string(text))
		if !slices.Equal(got, want) {
			statement, args := lens.CountSQL(q)
			rt.Fatalf("%s yields %v, memory %v\n%s\n%s\n%#v", d.dialect, got, want, text, statement, args)
		}
		n, err := q.Count(t.Context(), d.source)
		if err != nil || int(n) != len(want) {
			rt.Fatalf("%s counts %d (%v), want %d", d.dialect, n, err, len(want))
		}
		// A negation may be refused as everyone; else it is the rest.
		if not, err := tryBind(negated, w.catalogues[i]); err == nil {
			if rest := w.ids(t, rt, not, d, "not "+string(text)); len(rest)+len(got) != len(w.rows["people"]) {
				rt.Fatalf("%s: %d rows and %d of the negation are not all\n%s", d.dialect, len(got), len(rest), text)
			}
		}
	}
	return true
}

func (w *world) ids(t *testing.T, rt *rapid.T, q *lens.Query, d *database, text string) []string {
	rows, err := lens.Rows(t.Context(), q, d.source)
	if err != nil {
		statement, args := lens.CountSQL(q)
		rt.Fatalf("%s: %v\n%s\n%s\n%#v", d.dialect, err, text, statement, args)
	}
	var ids []string
	for _, row := range rows {
		ids = append(ids, row["id"].(string))
	}
	slices.SortFunc(ids, func(a, b string) int { return atoi(a) - atoi(b) })
	return ids
}

func atoi(s string) int {
	n := 0
	for _, r := range s {
		n = 10*n + int(r-'0')
	}
	return n
}
