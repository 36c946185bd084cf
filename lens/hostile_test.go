package lens_test

import (
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// hostile are values that no parameter of any kind may have.
var hostile = map[string]any{
	"a byte that is none":       "a\xffb",
	"an overlong quote":         "\xc0\xa7 OR 1=1 --",
	"an overlong slash":         "\xe0\x80\xaf",
	"a surrogate in UTF-8":      "\xed\xa0\x80",
	"beyond Unicode":            "\xf4\x90\x80\x80",
	"half a character":          "\xf0\x9f\x98",
	"a quote after half of one": "\xbf' OR '1'='1",
	"U+0000":                    "a\x00' OR '1'='1",
	"more than a text may have": strings.Repeat("x", lens.MaxText+1),
	"nothing":                   nil,
	"an object":                 map[string]any{"eq": 1},
	"a list":                    []any{"NO", "SE"},
	"a parameter":               map[string]any{"param": "x"},
	"an exponent":               json.Number("1e999999999"),
	"a fraction of zero":        json.Number("1/0"),
	"hexadecimal":               json.Number("0x10"),
	"no number":                 json.Number("NaN"),
	"an empty number":           json.Number(""),
	"infinity":                  math.Inf(1),
	"no float":                  math.NaN(),
	"a function":                func() {},
	"a channel":                 make(chan int),
}

// Whatever a parameter is given that it cannot be is an error that names it, and no
// query is made.
func (s shopDatabase) testHostileParameters(t *testing.T) {
	for field, kind := range map[string]string{"email": "text", "id": "bigint", "born": "date", "score": "float"} {
		l, err := lens.ParseJSON([]byte(`{"from": "users", "where": {"` + field + `": {"eq": {"param": "p"}}}, "select": ["id"], "params": {"p": {"kind": "` + kind + `"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := l.Check(s.catalogue, lens.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		others := map[string]any{"another type": true}
		if kind == "text" {
			others["a number"] = json.Number("7")
		} else {
			others["words"] = "' OR '1'='1"
		}
		if kind != "float" {
			others["a large number"] = json.Number(strings.Repeat("9", 400))
			others["a long number"] = json.Number("0." + strings.Repeat("0", 5000) + "1")
		}
		for _, values := range []map[string]any{hostile, others} {
			for name, value := range values {
				q, err := plan.Bind(lens.Bindings{Params: map[string]any{"p": value}, Now: worldNow})
				fault := new(lens.Fault)
				if err == nil || q != nil || !errors.As(err, &fault) || fault.Path == "" {
					t.Errorf("%s as %s: %v", name, kind, err)
				}
			}
		}
	}
	// What is not UTF-8, or stands for no character, is no lens; U+FFFD is itself only.
	for _, text := range []string{"\xff", "\xc0\xa7", "\xed\xa0\x80", `\ud800`, `\udc00`, `\ud800\ud800`, `\ud83d x`, `\\\ud800`, `\uDFFF\uD800`} {
		for _, where := range []string{`{"email": {"eq": "` + text + `"}}`, `{"email": {"in": ["x", "` + text + `"]}}`, `{"` + text + `": {"eq": "x"}}`, `{"prefs": {"path": ["` + text + `"], "eq": "x"}}`} {
			fault := new(lens.Fault)
			if _, err := s.query(t, "users", where, lens.Scope{}, lens.Bindings{}); !errors.As(err, &fault) {
				t.Errorf("%q: %v", where, err)
			}
		}
	}
	for _, where := range []string{`{"email": {"contains": "\ufffd"}}`, `{"email": {"eq": "\ud83d\ude00"}}`, `{"email": {"eq": "\\ud800"}}`} {
		q, err := s.query(t, "users", where, lens.Scope{}, lens.Bindings{})
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if got := s.ids(t, q); got != "" {
			t.Errorf("%s gives %q", where, got)
		}
	}
}

// cells of cursors that somebody made: each letter with what it may not have.
var forgedCells = []string{
	"", "s", "sabc", "s' OR '1'='1", "s'; DROP TABLE users; --", "s\x00", "sNaN", "sinfinity", "s-", "s1e5", `s\\x'`, "s0000-00-00", "snow",
	"s" + strings.Repeat("9", 300), "i1", "i-1", "i9223372036854775807", "i99999999999999999999", "i1.5", "ix", "d1.5", "d-7", "d1e400", "d1/0", "d0x1",
	"d" + strings.Repeat("9", 40), "f1.5", "fNaN", "fInf", "f1e400", "otrue", "omaybe", "t2026-01-31T10:00:00Z", "t0000-01-01T00:00:00Z", "tnow",
	"b//8", "b!", "x/w", "x!", "z1", "S1", "\u00e9",
}

// forge makes cursors of a true one: each gives ErrCursor, or rows of the lens and no
// others.
func (s shopDatabase) forge(t *testing.T, q *lens.Query, name string, all int) {
	t.Helper()
	p, err := q.Page(t.Context(), s.source, "", 1)
	if err != nil || p.Next == "" {
		t.Fatalf("%s: %v, and the cursor %q", name, err, p.Next)
	}
	try := func(c lens.Cursor, what string) {
		t.Helper()
		p, err := q.Page(t.Context(), s.source, c, 100)
		if err != nil && !errors.Is(err, lens.ErrCursor) {
			t.Errorf("%s, %s: %v", name, what, err)
		}
		if len(p.Rows) > all {
			t.Errorf("%s, %s gives %d rows of %d", name, what, len(p.Rows), all)
		}
	}
	for n := 1; n < len(p.Next); n += 7 {
		if _, err := q.Page(t.Context(), s.source, p.Next[:n], 1); !errors.Is(err, lens.ErrCursor) {
			t.Errorf("%s, the first %d bytes: %v", name, n, err)
		}
	}
	text, err := base64.RawURLEncoding.DecodeString(string(p.Next))
	if err != nil {
		t.Fatal(err)
	}
	var held struct {
		Order string    `json:"o"`
		At    []*string `json:"a"`
	}
	if err := json.Unmarshal(text, &held); err != nil {
		t.Fatal(err)
	}
	made := func(at []*string) lens.Cursor {
		forged := held
		forged.At = at
		text, err := json.Marshal(forged)
		if err != nil {
			t.Fatal(err)
		}
		return lens.Cursor(base64.RawURLEncoding.EncodeToString(text))
	}
	for i := range held.At {
		for _, cell := range forgedCells {
			at := append([]*string{}, held.At...)
			at[i] = &cell
			try(made(at), fmt.Sprintf("%.40q as value %d", cell, i))
		}
		at := append([]*string{}, held.At...)
		at[i] = nil
		try(made(at), "null")
	}
	for what, at := range map[string][]*string{"no values": {}, "one more": append(append([]*string{}, held.At...), held.At[0])} {
		if _, err := q.Page(t.Context(), s.source, made(at), 1); !errors.Is(err, lens.ErrCursor) {
			t.Errorf("%s, %s: %v", name, what, err)
		}
	}
}

func (s shopDatabase) testForgedCursors(t *testing.T) {
	for _, order := range []string{`"email"`, `"country"`, `"-born"`, `"score"`, `"-organization_id", "email"`, `"id"`} {
		q := s.ask(t, `{"from": "users", "where": {"id": {"lte": 5}}, "select": ["id"], "order": [`+order+`]}`)
		s.forge(t, q, order, 5)
	}
	q := s.ask(t, `{"from": "orders", "where": {"everyone": true}, "select": ["id"], "order": ["total"]}`)
	s.forge(t, q, "total", 5)
}

// SQLite keeps text that is none, and with U+0000: pages go by it like by any other.
func TestKeysThatAreNoText(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"CREATE TABLE odd (id TEXT NOT NULL PRIMARY KEY, name TEXT)",
		"INSERT INTO odd VALUES ('a', CAST(x'fe' AS TEXT)), (CAST(x'61ff' AS TEXT), 'b'), (CAST(x'61fe' AS TEXT), CAST(x'ff41' AS TEXT)), (CAST(x'61efbfbd' AS TEXT), NULL), ('z', 'c')",
		"INSERT INTO odd VALUES (CAST(x'610062' AS TEXT), CAST(x'6100' AS TEXT)), (CAST(x'6100' AS TEXT), 'd')",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	src, err := source.Open(t.Context(), "sqlite:"+path, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	c, err := src.Catalogue(t.Context(), catalogue.Model{})
	if err != nil {
		t.Fatal(err)
	}
	shop := shopDatabase{&database{dialect: catalogue.SQLite, source: src, db: db}, c}
	for _, order := range []string{"", `, "order": ["name"]`, `, "order": ["-name"]`} {
		q := shop.ask(t, `{"from": "odd", "where": {"everyone": true}, "select": ["id"]`+order+`}`)
		for _, size := range []int{1, 2, 3} {
			seen := map[any]int{}
			var after lens.Cursor
			for range 10 {
				p, err := q.Page(t.Context(), src, after, size)
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range p.Rows {
					seen[row["id"]]++
				}
				if after = p.Next; after == "" {
					break
				}
			}
			if after != "" || len(seen) != 7 {
				t.Errorf("order %q in pages of %d: %d rows, and the cursor %q", order, size, len(seen), after)
			}
			for id, n := range seen {
				if n != 1 {
					t.Errorf("order %q in pages of %d: %q comes %d times", order, size, id, n)
				}
			}
		}
	}
}
