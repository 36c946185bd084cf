package lens_test

import (
	"testing"

	"github.com/postledger/postledger/lens/catalogue"
)

// PostgreSQL's json keeps text that its jsonb is not made of. A row with such text has none, and is
// no error of all the others'.
func TestJSONThatCannotBeLookedIntoIsNull(t *testing.T) {
	d := databases(t)[0]
	d.exec(t, "CREATE TABLE documents (id bigint PRIMARY KEY, j json)")
	good := []string{
		`{"a": 1}`, `{"a": 1, "s": "\ud83d\ude00"}`, `{"a": 1, "s": "\\u0000"}`, `{"a": 1, "s": "\\\\ud800"}`, `{"a": 1, "s": "\u00e9"}`,
		`{"a": 1, "s": "1e99999 and \"2e-99999"}`, `{"a": 1, "n": 1e308}`, `{"a": 1, "s": "\ud83d\ude00\\\"\ud83d\ude00"}`,
	}
	bad := []string{
		`{"a": 1, "s": "\u0000"}`, `{"a": 1, "s": "\ud800"}`, `{"a": 1, "s": "\ude00\ud83d"}`, `{"a": 1, "s": "\\\u0000"}`, `{"a": 1, "n": 1e200000}`,
		`{"a": 1, "s": "\ud83d\\\ude00"}`, `{"\u0000": 2, "a": 1}`,
	}
	for i, text := range append(append([]string{}, good...), bad...) {
		if _, err := d.db.ExecContext(t.Context(), "INSERT INTO documents VALUES ($1, $2)", i, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	shop := shopDatabase{d, d.open(t, catalogue.Model{})}
	for where, matches := range map[string]func(isGood bool) bool{
		`{"j": {"path": ["a"], "eq": 1}}`:                        func(isGood bool) bool { return isGood },
		`{"not": {"j": {"path": ["a"], "eq": 1}}}`:               func(isGood bool) bool { return !isGood },
		`{"j": {"isNull": true}}`:                                func(isGood bool) bool { return !isGood },
		`{"j": {"path": ["s"], "startsWith": "zz"}}`:             func(bool) bool { return false },
		`{"any": [{"id": {"gte": 0}}, {"j": {"isNull": true}}]}`: func(bool) bool { return true },
	} {
		q := shop.ask(t, `{"from": "documents", "where": `+where+`, "select": ["id", "j"]}`)
		found := map[any]bool{}
		for row, err := range q.Rows(t.Context(), d.source, "") {
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			found[row["id"]] = true
		}
		all := shop.ask(t, `{"from": "documents", "where": {"everyone": true}, "select": ["id", "j"]}`)
		for row, err := range all.Rows(t.Context(), d.source, "") {
			if err != nil {
				t.Fatal(err)
			}
			isGood := row["j"] != nil
			memory, err := q.Matches(row)
			if err != nil || memory != found[row["id"]] || memory != matches(isGood) {
				t.Errorf("%s: row %v, good %t: database %t, memory %t, %v", where, row["id"], isGood, found[row["id"]], memory, err)
			}
		}
	}
	n := 0
	for row, err := range shop.ask(t, `{"from": "documents", "where": {"j": {"isNull": false}}, "select": ["id"]}`).Rows(t.Context(), d.source, "") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; row["id"].(string) >= "8" {
			t.Errorf("row %v counts as good", row["id"])
		}
	}
	if n != len(good) {
		t.Errorf("%d good rows, want %d", n, len(good))
	}
}
