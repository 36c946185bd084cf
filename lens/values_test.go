package lens_test

import (
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// telling are views that fail on a row whose address is held, each in a way in which the
// database quotes what it found there.
type telling struct {
	statements []string
	// views say z of each row; the text is what their errors must tell.
	views map[string]string
	// divides fails on the row 3 only.
	divides string
	// gone is what an undefined table is told as.
	gone string
}

const heldValue = "mira.holt@rcpt.example"

var tellings = map[catalogue.Dialect]telling{
	catalogue.PostgreSQL: {
		statements: []string{
			`CREATE FUNCTION complain(t text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no good: %', t USING HINT = t, DETAIL = t; END $$`,
			`CREATE FUNCTION complain_as(t text, c text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no good: %', t USING ERRCODE = c; END $$`,
		},
		views: map[string]string{
			"email::int":           "22P02, invalid text representation",
			"email::date = now()":  "22007, invalid datetime format",
			"email::uuid IS NULL":  "22P02",
			"email::jsonb IS NULL": "22P02",
			"email::regclass::int": "0A000, feature not supported", "replace(email, '.', '_')::regclass::int": "42P01",
			"email::regrole IS NULL":              "42602",
			"to_tsquery('(' || email) IS NULL":    "42601",
			"regexp_count(email, '(' || email)":   "2201B",
			"complain(email)":                     "P0001, raised by a function",
			"complain_as(email, '23505')":         "23505, unique violation",
			"complain_as(email, 'XX000')":         "XX000, internal error",
			"complain_as(email, 'LE123')":         "LE123",
			"(repeat(email, 9)::varchar(1))::int": "22P02",
		},
		divides: "CREATE VIEW divides AS SELECT id, 1 / (id - 3) AS z FROM holders",
		gone:    `relation "public.holders" does not exist`,
	},
	catalogue.MySQL: {
		statements: []string{
			`CREATE FUNCTION complain(t VARCHAR(80)) RETURNS INT DETERMINISTIC BEGIN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = t; RETURN 1; END`,
			`CREATE FUNCTION complain_too(t VARCHAR(80)) RETURNS INT DETERMINISTIC BEGIN SIGNAL SQLSTATE '42S02' SET MESSAGE_TEXT = t, MYSQL_ERRNO = 1062; RETURN 1; END`,
		},
		views: map[string]string{
			"complain(email)":                      "error 1644, raised by a function",
			"complain_too(email)":                  "error 1062",
			"(SELECT h.id FROM holders h) + id":    "error 1242, cardinality violation",
			"18446744073709551615 + LENGTH(email)": "error 1690, numeric value out of range",
		},
		divides: "CREATE VIEW divides AS SELECT id, IF(id = 3, complain(email), id) AS z FROM holders",
		gone:    ".holders' doesn't exist",
	},
	catalogue.SQLite: {
		views: map[string]string{
			"json_extract('{}', email)":          "SQLite error 1",
			"json_extract(email, '$.a')":         "SQLite error 1",
			"abs(-9223372036854775807 - 1) + id": "SQLite error 1",
			"length(zeroblob(9223372036854775))": "SQLite error 18",
		},
		divides: "CREATE VIEW divides AS SELECT id, abs(CASE WHEN id = 3 THEN -9223372036854775807 - 1 END) AS z FROM holders",
		gone:    "no such table: holders",
	},
}

// What a statement fails on is told by its code, and never with the value; errors about
// names say which.
func TestErrorsTellNoValues(t *testing.T) {
	t.Parallel()
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			said := tellings[d.dialect]
			d.exec(t, `CREATE TABLE holders (id INT NOT NULL PRIMARY KEY, email VARCHAR(80))`)
			d.exec(t, `INSERT INTO holders VALUES (1, '`+heldValue+`'), (2, '`+heldValue+`'), (3, '`+heldValue+`'), (4, '`+heldValue+`')`)
			for _, statement := range said.statements {
				d.exec(t, statement)
			}
			for expr, code := range said.views {
				d.exec(t, "CREATE VIEW failing AS SELECT id, "+expr+" AS z FROM holders")
				for what, err := range d.failures(t, "failing") {
					var refused *pgconn.PgError
					switch {
					case err == nil || !strings.Contains(err.Error(), code):
						t.Errorf("%s, %s: %v, want %s", expr, what, err, code)
					case strings.Contains(err.Error(), "mira") || errors.As(err, &refused):
						t.Errorf("%s, %s tells a value: %v", expr, what, err)
					case errors.Is(err, source.ErrValue) != !strings.HasPrefix(code, "XX"):
						t.Errorf("%s, %s is about a value: %t", expr, what, errors.Is(err, source.ErrValue))
					}
				}
				d.exec(t, "DROP VIEW failing")
			}
			d.exec(t, said.divides)
			d.blames(t)
			if d.dialect == catalogue.PostgreSQL {
				d.refuses(t)
			}
			d.exec(t, "CREATE VIEW failing AS SELECT id, id AS z FROM holders")
			c := d.open(t, model(t, "tables: {failing: {key: [id], columns: {z: {kind: text}}}, divides: {key: [id]}}", d.dialect))
			d.exec(t, "DROP VIEW failing")
			d.exec(t, "DROP VIEW divides")
			d.exec(t, "DROP TABLE holders")
			_, err := bindTo(t, lens.Where("holders", lens.Everyone{}).Selecting("id"), c).Count(t.Context(), d.source)
			if err == nil || !strings.Contains(err.Error(), said.gone) || errors.Is(err, source.ErrValue) {
				t.Errorf("of a table that is gone: %v, want %s", err, said.gone)
			}
		})
	}
}

// model gives SQLite's views the kinds that their columns have elsewhere.
func model(t *testing.T, text string, d catalogue.Dialect) catalogue.Model {
	t.Helper()
	if d != catalogue.SQLite {
		text = strings.ReplaceAll(text, ", columns: {z: {kind: text}}", "")
	}
	m, err := catalogue.ParseModel([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// failures asks a view in every way.
func (d *database) failures(t *testing.T, view string) map[string]error {
	t.Helper()
	c := d.open(t, model(t, "tables: {"+view+": {key: [id], columns: {z: {kind: text}}}}", d.dialect))
	where := lens.Of("z").IsNull(false)
	q := bindTo(t, lens.Where(view, where).Selecting("id", "z"), c)
	got := map[string]error{}
	_, got["count"] = q.Count(t.Context(), d.source)
	_, got["page"] = q.Page(t.Context(), d.source, "", 10)
	_, got["includes"] = q.Includes(t.Context(), d.source, 1)
	_, got["rows"] = lens.Rows(t.Context(), q, d.source)
	return got
}

// blames: a row that cannot be read is no fault of the cursor before it.
func (d *database) blames(t *testing.T) {
	t.Helper()
	m := "tables: {divides: {key: [id], columns: {z: {kind: bigint}, id: {kind: bigint}}}}"
	if d.dialect != catalogue.SQLite {
		m = "tables: {divides: {key: [id]}}"
	}
	q := bindTo(t, lens.Where("divides", lens.Everyone{}).Selecting("id", "z"), d.open(t, model(t, m, d.dialect)))
	first, err := q.Page(t.Context(), d.source, "", 1)
	if err != nil || first.Next == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	_, err = q.Page(t.Context(), d.source, first.Next, 3)
	if errors.Is(err, lens.ErrCursor) || !errors.Is(err, source.ErrValue) {
		t.Errorf("a row that fails after a cursor: %v", err)
	}
}

// refuses: a key that no row can have is the cursor's fault: of a type, of a domain.
func (d *database) refuses(t *testing.T) {
	t.Helper()
	d.exec(t, `CREATE DOMAIN short AS text CHECK (length(VALUE) < 3)`)
	for kind, at := range map[string]string{"date": "s2026-99-99", "short": "slonger", "numeric(4,1)": "s12345"} {
		d.exec(t, "CREATE TABLE keyed (k "+kind+" PRIMARY KEY)")
		d.exec(t, "INSERT INTO keyed VALUES ($1::text::"+kind+"), ($2::text::"+kind+")", map[string]any{"date": "2026-01-01", "short": "1", "numeric(4,1)": "1"}[kind], map[string]any{"date": "2026-01-02", "short": "2", "numeric(4,1)": "2"}[kind])
		q := bindTo(t, lens.Where("keyed", lens.Everyone{}).Selecting("k"), d.open(t, catalogue.Model{}))
		first, err := q.Page(t.Context(), d.source, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		text, err := base64.RawURLEncoding.DecodeString(string(first.Next))
		if err != nil {
			t.Fatal(err)
		}
		forged := regexp.MustCompile(`"a":.*`).ReplaceAllString(string(text), `"a":["`+at+`"]}`)
		if _, err := q.Page(t.Context(), d.source, lens.Cursor(base64.RawURLEncoding.EncodeToString([]byte(forged))), 1); !errors.Is(err, lens.ErrCursor) {
			t.Errorf("%s after %s: %v", kind, at, err)
		}
		d.exec(t, "DROP TABLE keyed")
	}
}
