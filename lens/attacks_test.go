package lens_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
)

// payloads are what people try. As a value each is that text and nothing more;
// as a name or a path each is refused.
var payloads = []string{
	`' OR '1'='1`, `'; DROP TABLE users; --`, `" OR ""="`, "` OR 1=1 -- ", `\' OR 1=1 -- `, `\`, `\\`, `'`, `''`, `"`, "`",
	`%`, `_`, `%' OR '1'='1`, `!%`, `!`, `[a-z]`, `*`, `?`, `$1`, `$1::text`, `:name`, `@@version`, `{{7*7}}`, `${x}`,
	`1; SELECT pg_sleep(10)`, `1 UNION SELECT password_hash FROM users`, `/* x */`, `-- x`, `#`, `0x41`, `CHAR(65)`, `NULL`, `null`, `true`,
	"\u00bf\u0027", "\u02bc OR 1=1", "\uff07 OR 1=1", "é'", "\ufffd", "\u202e", "a\nb", "a\r\nb", "\t", strings.Repeat("'", 1000),
	`"]') IS NOT NULL OR 1=1 --`, `$."a"`, `a"."b`, `a[*]`, `**`, `$[0 to last]`, `lax $`, `a" ? (@ == 1)`,
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s shopDatabase) testAttacks(t *testing.T) {
	// The table and the column with the worst names are read like others.
	q, err := s.query(t, "odd", `{"evil": {"eq": "y"}}`, lens.Scope{}, lens.Bindings{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.ids(t, q); got != "2" {
		t.Errorf("odd: %q", got)
	}
	for _, payload := range payloads {
		text := quoted(t, payload)
		for _, op := range []string{"eq", "gte", "contains", "startsWith", "endsWith"} {
			for _, fold := range []string{"", `, "ignoreCase": true`} {
				if op == "gte" && fold != "" {
					continue
				}
				q, err := s.query(t, "users", `{"all": [{"email": {"`+op+`": `+text+fold+`}}, {"id": {"lt": 0}}]}`, lens.Scope{}, lens.Bindings{})
				if err != nil {
					t.Errorf("%s %s: %v", op, text, err)
					continue
				}
				if got := s.ids(t, q); got != "" {
					t.Errorf("%s %s gives %q", op, text, got)
				}
			}
		}
		// Found where it is meant, and nowhere else.
		q, err := s.query(t, "users", `{"email": {"contains": `+text+`}}`, lens.Scope{}, lens.Bindings{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := s.ids(t, q), map[string]string{`%`: "6", `_`: "3", `\`: "5"}[payload]; got != want {
			t.Errorf("contains %s gives %q, want %q", text, got, want)
		}
		for _, where := range []string{
			`{"prefs": {"path": ["mail"], "eq": ` + text + `}}`,
			`{"prefs": {"path": ["mail", "weekly"], "in": [` + text + `]}}`,
		} {
			q, err := s.query(t, "users", where, lens.Scope{}, lens.Bindings{})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.ids(t, q); got != "" {
				t.Errorf("%s gives %q", where, got)
			}
		}
	}
	var n int
	if err := s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM users").Scan(&n); err != nil || n != 7 {
		t.Fatalf("%d users are left (%v)", n, err)
	}
}

// As a name, a path, an operator, a zone or a kind, every payload is an error of
// the lens, and no query is made of it.
func TestPayloadsAreNoNames(t *testing.T) {
	t.Parallel()
	const where = `"where": {"everyone": true}`
	for _, payload := range payloads {
		text := quoted(t, payload)
		for _, attack := range []string{
			`{"from": ` + text + `, ` + where + `, "select": ["email"]}`,
			`{"from": "users", ` + where + `, "select": [` + text + `]}`,
			`{"from": "users", ` + where + `, "select": ["email"], "order": [` + text + `]}`,
			`{"from": "users", ` + where + `, "select": ["email"], "key": [` + text + `]}`,
			`{"from": "users", ` + where + `, "select": ["email"], "zone": ` + text + `}`,
			`{"from": "users", ` + where + `, "select": [{` + text + `: ["id"]}]}`,
			`{"from": "users", ` + where + `, "select": ["email"], "params": {` + text + `: {"kind": "int"}}}`,
			`{"from": "users", ` + where + `, "select": ["email"], "params": {"n": {"kind": ` + text + `}}}`,
			lensOf(`{` + text + `: {"eq": 1}}`),
			lensOf(`{"email": {` + text + `: "x"}}`),
			lensOf(`{"orders": {` + text + `: {"everyone": true}}}`),
			lensOf(`{"email": {"eq": {"param": ` + text + `}}}`),
			lensOf(`{"seen_at": {"gt": ` + text + `}}`),
			lensOf(`{"born": {"gt": ` + text + `}}`),
			lensOf(`{"ref": {"eq": ` + text + `}}`),
			lensOf(`{"id": {"eq": ` + text + `}}`),
			lensOf(`{"balance": {"gt": ` + text + `}}`),
			lensOf(`{"plan": {"eq": ` + text + `}}`),
			lensOf(`{"active": {"eq": ` + text + `}}`),
		} {
			q, err := checked(t, attack, nil)
			fault := new(lens.Fault)
			if err == nil || q != nil || !errors.As(err, &fault) {
				t.Errorf("%s: %v", attack, err)
			}
		}
	}
	for _, key := range []string{`a"b`, `a\b`, `a'b`, "a`b", `$`, `a[0]`, `*`, `a?b`, "a\nb", `a(b`, `é`, ``} {
		if _, err := checked(t, lensOf(`{"prefs": {"path": [`+quoted(t, key)+`], "eq": 1}}`), nil); err == nil {
			t.Errorf("the path %q went through", key)
		}
	}
}
