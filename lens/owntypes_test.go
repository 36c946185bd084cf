package lens_test

import (
	"slices"
	"testing"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

// own is what one database has and the others have not.
type own struct {
	statements []string
	// misfits are columns of the table misfits whose values, all of them, are none
	// of their kind.
	misfits []string
	kinds   map[string]catalogue.Kind
	// answers are about the table own.
	answers map[string]string
}

var owns = map[catalogue.Dialect]own{
	catalogue.PostgreSQL: {
		statements: []string{
			`CREATE TABLE misfits (id BIGINT PRIMARY KEY, f DOUBLE PRECISION, r REAL, n NUMERIC, d DATE, w TIMESTAMP, i TIMESTAMPTZ, c TIME, a INT[], j JSONB)`,
			`INSERT INTO misfits VALUES (1, 'NaN', 'NaN', 'NaN', 'infinity', 'infinity', 'infinity', '24:00', '{{1},{2}}', 'null'),
				(2, 'Infinity', '-Infinity', 'Infinity', '0044-03-15 BC', '0044-03-15 BC', '0044-03-15 BC', '24:00:00', '{{1,2}}', 'null'),
				(3, '-Infinity', 'NaN', '-Infinity', '20000-01-01', '20000-01-01', '20000-01-01', NULL, NULL, NULL)`,
			`CREATE TABLE loose (code TEXT NOT NULL, note TEXT UNIQUE)`,
			`CREATE UNIQUE INDEX partly ON loose (code) WHERE note IS NOT NULL`,
			`CREATE UNIQUE INDEX computed ON loose (lower(code))`,
			`CREATE TYPE plan AS ENUM ('free', 'pro', 'it''s')`,
			`CREATE DOMAIN label AS varchar(20)`,
			`CREATE TABLE own (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, plan plan, label label, tags TEXT[], ids INT[], big BIGINT[], codes VARCHAR(4)[],
				place POINT, spent MONEY, huge NUMERIC, token_secret TEXT)`,
			`INSERT INTO own (plan, label, tags, ids, big, codes, huge) VALUES
				('free', 'a', '{vip,new}', '{1,2}', '{9007199254740993}', '{A,b}', 123456789012345678901234567890.12),
				('pro', 'b', '{}', '{}', '{}', '{}', 0.1), (NULL, NULL, NULL, NULL, NULL, NULL, NULL), ('it''s', 'c', '{NULL,VIP}', '{NULL}', NULL, '{a}', 5)`,
		},
		misfits: []string{"f", "r", "n", "d", "w", "i", "c", "a", "j"},
		kinds: map[string]catalogue.Kind{
			"plan": catalogue.Enum, "label": catalogue.Text, "tags": catalogue.Array, "ids": catalogue.Array, "place": catalogue.Unsupported,
			"spent": catalogue.Unsupported, "huge": catalogue.Decimal,
		},
		answers: map[string]string{
			`{"plan": {"eq": "it's"}}`: "4", `{"plan": {"ne": "free"}}`: "234", `{"plan": {"in": ["free", "pro"]}}`: "12", `{"plan": {"isNull": true}}`: "3",
			`{"label": {"gte": "b"}}`:  "24",
			`{"tags": {"has": "vip"}}`: "1", `{"not": {"tags": {"has": "vip"}}}`: "234", `{"tags": {"hasSome": ["x", "VIP", "new"]}}`: "14",
			`{"tags": {"hasEvery": ["vip", "new"]}}`: "1", `{"tags": {"isEmpty": true}}`: "2", `{"tags": {"isEmpty": false}}`: "14",
			`{"not": {"tags": {"isEmpty": true}}}`: "134", `{"tags": {"isNull": true}}`: "3", `{"tags": {"hasSome": []}}`: "",
			`{"ids": {"has": 2}}`: "1", `{"big": {"has": "9007199254740993"}}`: "1", `{"codes": {"has": "a"}}`: "4",
			`{"huge": {"eq": "123456789012345678901234567890.12"}}`: "1", `{"huge": {"lt": "0.10000000000000000001"}}`: "2",
		},
	},
	catalogue.MySQL: {
		statements: []string{
			`SET SESSION sql_mode = 'ALLOW_INVALID_DATES'`,
			`CREATE TABLE misfits (id BIGINT PRIMARY KEY, d DATE, w DATETIME(6), i TIMESTAMP NULL, c TIME, z DATE NOT NULL)`,
			`INSERT INTO misfits VALUES (1, '0000-00-00', '0000-00-00', '0000-00-00', '25:00:00', '0000-00-00'),
				(2, '2026-00-10', '2026-10-00', NULL, '-01:00:00', '2026-00-00'), (3, '2026-02-31', '2025-02-29 10:00:00', NULL, '838:59:59', '2026-11-31')`,
			`CREATE TABLE own (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, plan ENUM('free', 'pro', 'it''s'), big BIGINT UNSIGNED, made YEAR, bit1 BIT(1),
				several SET('a', 'b'), area POINT, tiny TINYINT, latin VARCHAR(10) CHARACTER SET latin1)`,
			`CREATE TABLE loose (code VARCHAR(10) NOT NULL, note VARCHAR(10), UNIQUE KEY start (code(3)), UNIQUE KEY maybe (note))`,
			`INSERT INTO own (plan, big, made, bit1, tiny, latin) VALUES ('free', 18446744073709551615, 2026, b'1', 1, 'é'),
				('pro', 9223372036854775808, 1926, b'0', -2, 'e'), (NULL, NULL, NULL, NULL, NULL, NULL), ('it''s', 5, 2001, b'1', 0, 'E ')`,
		},
		misfits: []string{"d", "w", "i", "c", "z"},
		kinds: map[string]catalogue.Kind{
			"plan": catalogue.Enum, "big": catalogue.BigInt, "made": catalogue.Int, "bit1": catalogue.Bool, "several": catalogue.Unsupported,
			"area": catalogue.Unsupported, "tiny": catalogue.Int, "latin": catalogue.Text,
		},
		answers: map[string]string{
			`{"plan": {"eq": "it's"}}`: "4", `{"plan": {"ne": "free"}}`: "234", `{"plan": {"in": ["free", "pro"]}}`: "12", `{"plan": {"isNull": true}}`: "3",
			`{"big": {"gt": "9223372036854775808"}}`: "1", `{"big": {"gte": "9223372036854775808"}}`: "12", `{"big": {"gt": -1}}`: "124",
			`{"made": {"eq": 26}}`: "", `{"made": {"gte": 2001}}`: "14", `{"bit1": {"eq": true}}`: "14", `{"bit1": {"ne": true}}`: "23",
			`{"latin": {"eq": "é"}}`: "1", `{"latin": {"eq": "E"}}`: "", `{"latin": {"eq": "e", "ignoreCase": true}}`: "2", `{"latin": {"eq": "日"}}`: "",
		},
	},
	catalogue.SQLite: {
		statements: []string{
			`CREATE TABLE misfits (id INTEGER PRIMARY KEY, b BOOLEAN, n INTEGER, m DECIMAL(10,2), f REAL, s TEXT, x BLOB, d DATE, i DATETIME, c TIME, u UUID, j JSON)`,
			`INSERT INTO misfits VALUES (1, 'yes', 'abc', 'abc', 'abc', x'00', 'abc', 'abc', 'abc', 'abc', 'abc', 'abc'),
				(2, 0.5, 1.5, x'00', x'00', x'61', 5, 2460000.5, 1700000000, 5, 5, '{a'),
				(3, x'00', x'00', 'NaN', 9e999, NULL, NULL, 'now', 'now', '24:00:00', 'ffffffff-ffff-ffff-ffff-fffffffffffg', x'00')`,
			`CREATE TABLE own (id INTEGER PRIMARY KEY, at DATETIME, odd STRING, flag BOOLEAN, u UUID, name TEXT, blob_json JSONB)`,
			`INSERT INTO own VALUES (1, '2026-11-30T10:00:00Z', 'x', 1, 'FFFFFFFF-0000-0000-0000-000000000000', 'É', jsonb('{"a": 1}')),
				(2, '2026-11-30 12:00:00+02:00', 'x', 0, NULL, 'é', NULL), (3, NULL, NULL, NULL, NULL, NULL, NULL),
				(4, '2026-11-30 10:00:00.0004', 'x', 7, NULL, 'e', '{"a": "1"}')`,
			`CREATE TABLE loose (code TEXT PRIMARY KEY, note TEXT)`,
		},
		misfits: []string{"b", "n", "m", "f", "s", "x", "d", "i", "c", "u", "j"},
		kinds: map[string]catalogue.Kind{
			"at": catalogue.TimestampTZ, "odd": catalogue.Unsupported, "flag": catalogue.Bool, "u": catalogue.UUID, "blob_json": catalogue.JSON,
		},
		answers: map[string]string{
			`{"at": {"eq": "2026-11-30T10:00:00Z"}}`: "124", `{"at": {"lt": "2026-11-30T10:00:00Z"}}`: "", `{"flag": {"eq": true}}`: "14",
			`{"u": {"eq": "ffffffff-0000-0000-0000-000000000000"}}`: "1", `{"name": {"eq": "é", "ignoreCase": true}}`: "2",
			`{"blob_json": {"path": ["a"], "eq": 1}}`: "1", `{"blob_json": {"path": ["a"], "eq": "1"}}`: "4",
		},
	},
}

func (s shopDatabase) withOwn(t *testing.T) (own, *catalogue.Catalogue) {
	t.Helper()
	o := owns[s.dialect]
	s.db.SetMaxOpenConns(1)
	if _, exists := s.open(t, catalogue.Model{}).Table("own"); !exists {
		for _, statement := range o.statements {
			s.exec(t, statement)
		}
	}
	return o, s.open(t, catalogue.Model{})
}

// What is no value of its column's kind is null: for filters, for their
// negations, and for who reads.
func (s shopDatabase) testMisfits(t *testing.T) {
	o, c := s.withOwn(t)
	s.catalogue = c
	table, _ := c.Table("misfits")
	floor := lens.Any{Conditions: []lens.Condition{lens.Of("id").Eq(1)}}
	var want []string
	for _, name := range o.misfits {
		column, _ := table.Column(name)
		if column.Kind != catalogue.JSON && column.Kind != catalogue.Array {
			floor.Conditions = append(floor.Conditions, lens.Of(name).IsNull(true))
			want = append(want, "misfits."+name)
		}
	}
	slices.Sort(want)
	found, err := lens.Scope{Where: map[string]lens.Condition{"misfits": lens.Not{Condition: floor}, "tags": lens.Of("label").Eq("vip")}}.Misfits(t.Context(), c, s.source)
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("misfits: %v, %v, want %v", found, err, want)
	}
	for _, name := range o.misfits {
		column, _ := table.Column(name)
		if column == nil || column.Kind == catalogue.Unsupported {
			t.Errorf("%s: %+v", name, column)
			continue
		}
		q, err := s.query(t, "misfits", `{"`+name+`": {"isNull": true}}`, lens.Scope{}, lens.Bindings{})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.ids(t, q); got != "123" {
			t.Errorf("%s is null for %q only", name, got)
		}
		rows, err := lens.Rows(t.Context(), bindTo(t, lens.Where("misfits", lens.Everyone{}).Selecting("id", name), c), s.source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, row := range rows {
			if row[name] != nil {
				t.Errorf("%s reads as %#v", name, row[name])
			}
		}
		if column.Kind.Ordered() && column.Kind != catalogue.Text {
			literal := map[catalogue.Kind]string{
				catalogue.Date: `"1000-01-01"`, catalogue.Timestamp: `"1000-01-01T00:00:00"`, catalogue.TimestampTZ: `"1000-01-01T00:00:00Z"`, catalogue.Time: `"12:00:00"`,
			}[column.Kind]
			if literal == "" {
				literal = "0"
			}
			for where, want := range map[string]string{
				`{"` + name + `": {"gte": ` + literal + `}}`: "", `{"` + name + `": {"lt": ` + literal + `}}`: "",
				`{"not": {"` + name + `": {"gte": ` + literal + `}}}`: "123", `{"` + name + `": {"ne": ` + literal + `}}`: "123",
			} {
				q, err := s.query(t, "misfits", where, lens.Scope{}, lens.Bindings{})
				if err != nil {
					t.Fatal(err)
				}
				if got := s.ids(t, q); got != want {
					t.Errorf("%s: %q, want %q", where, got, want)
				}
			}
		}
	}
}

func (s shopDatabase) testOwnTypes(t *testing.T) {
	o, c := s.withOwn(t)
	s.catalogue = c
	table, _ := c.Table("own")
	for name, kind := range o.kinds {
		if column, _ := table.Column(name); column == nil || column.Kind != kind {
			t.Errorf("%s: %+v, want %s", name, column, kind)
		}
	}
	if plan, ok := table.Column("plan"); ok && !slices.Equal(plan.Labels, []string{"free", "pro", "it's"}) {
		t.Errorf("labels %q", plan.Labels)
	}
	// Keys that may be null, or cover only the beginning of a column or some rows.
	if loose, ok := c.Table("loose"); !ok || len(loose.Keys) > 0 {
		t.Errorf("loose has keys: %+v", loose)
	}
	for where, want := range o.answers {
		q, err := s.query(t, "own", where, lens.Scope{}, lens.Bindings{})
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if got := s.ids(t, q); got != want {
			statement, args := lens.CountSQL(q)
			t.Errorf("%s: %q, want %q\n%s %v", where, got, want, statement, args)
		}
		// Memory says the same of the rows as they are read.
		rows, err := lens.Rows(t.Context(), bindTo(t, lens.Where("own", lens.Everyone{}).Selecting(readableFields(table)...), c), s.source)
		if err != nil {
			t.Fatal(err)
		}
		inMemory := ""
		for _, row := range rows {
			yes, err := q.Matches(row)
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			if yes {
				inMemory += row["id"].(string)
			}
		}
		if inMemory != want {
			t.Errorf("%s: memory says %q, want %q", where, inMemory, want)
		}
	}
}

func readableFields(t *catalogue.Table) []any {
	var names []any
	for _, c := range t.Columns() {
		if !c.Hidden && c.Kind != catalogue.Unsupported {
			names = append(names, c.Name)
		}
	}
	return names
}
