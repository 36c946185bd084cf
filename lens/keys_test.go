package lens_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// keyed are tables whose rows look unique to somebody, and what is said of them.
type keyed struct {
	statements []string
	// none are tables without a key, as paging compares. noted are those of them whose
	// notes say so.
	none, noted []string
	// paged are tables that have one, with the number of their rows.
	paged map[string]int64
}

var keyeds = map[catalogue.Dialect]keyed{
	catalogue.PostgreSQL: {
		statements: []string{
			`CREATE COLLATION loosely (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
			`CREATE TABLE parent (id int PRIMARY KEY, code text COLLATE "C")`,
			`CREATE TABLE child () INHERITS (parent)`,
			`INSERT INTO parent SELECT i, 'p' || i FROM generate_series(1, 5) i`,
			`INSERT INTO child SELECT i, 'c' || i FROM generate_series(1, 7) i`,
			`CREATE TABLE other_index (code text COLLATE loosely NOT NULL)`,
			`CREATE UNIQUE INDEX ON other_index (code COLLATE "C")`,
			`CREATE TABLE one_of_two (code text COLLATE loosely NOT NULL, n int NOT NULL)`,
			`CREATE UNIQUE INDEX ON one_of_two (n, code COLLATE "C")`,
			`CREATE TABLE own_index (code text COLLATE loosely PRIMARY KEY)`,
			`CREATE TABLE looser_index (code text NOT NULL)`,
			`CREATE UNIQUE INDEX ON looser_index (code COLLATE loosely)`,
			`CREATE TABLE exact (code text COLLATE "C" NOT NULL)`,
			`CREATE UNIQUE INDEX ON exact (code COLLATE "POSIX")`,
			`CREATE TABLE pattern (code varchar(9) NOT NULL)`,
			`CREATE UNIQUE INDEX ON pattern (code text_pattern_ops)`,
			`CREATE TABLE parted (id int NOT NULL, code text NOT NULL, PRIMARY KEY (id, code)) PARTITION BY LIST (code)`,
			`CREATE TABLE parted_a PARTITION OF parted FOR VALUES IN ('a')`,
			`CREATE TABLE parted_b PARTITION OF parted DEFAULT`,
			`INSERT INTO parted VALUES (1, 'a'), (1, 'b'), (2, 'a'), (2, 'A'), (3, 'a')`,
			`INSERT INTO other_index SELECT s || i FROM generate_series(10, 20) i, (VALUES ('a'), ('A')) v (s)`,
			`INSERT INTO one_of_two SELECT code, 1 FROM other_index`,
			`INSERT INTO own_index SELECT 'a' || i FROM generate_series(1, 7) i`,
			`INSERT INTO looser_index SELECT * FROM own_index`,
			`INSERT INTO exact SELECT * FROM other_index`,
			`INSERT INTO pattern SELECT * FROM other_index`,
			`CREATE EXTENSION citext`,
			`CREATE TABLE as_text (code citext NOT NULL)`,
			`CREATE UNIQUE INDEX ON as_text (code text_ops)`,
			`INSERT INTO as_text SELECT code FROM other_index`,
			`CREATE TABLE as_citext (code citext PRIMARY KEY)`,
			`INSERT INTO as_citext SELECT code FROM own_index`,
		},
		none:  []string{"parent", "other_index", "one_of_two", "as_text"},
		noted: []string{"parent", "other_index", "one_of_two", "as_text"},
		paged: map[string]int64{"own_index": 7, "looser_index": 7, "exact": 22, "pattern": 22, "parted": 5, "as_citext": 7},
	},
	catalogue.MySQL: {
		statements: []string{
			`CREATE TABLE beginning (code VARCHAR(10) COLLATE utf8mb4_bin NOT NULL, UNIQUE KEY (code(2)))`,
			`CREATE TABLE folded (code VARCHAR(10) COLLATE utf8mb4_general_ci PRIMARY KEY)`,
			`CREATE TABLE exact (code VARCHAR(10) COLLATE utf8mb4_bin PRIMARY KEY)`,
			`CREATE TABLE latin (code VARCHAR(10) CHARACTER SET latin1 COLLATE latin1_general_cs PRIMARY KEY)`,
			`CREATE TABLE huge (code DECIMAL(65,0) PRIMARY KEY)`,
			`INSERT INTO beginning VALUES ('a1'), ('b1')`,
			`INSERT INTO folded VALUES ('a'), ('B'), ('c'), ('D'), ('ee')`,
			`INSERT INTO exact VALUES ('a'), ('A'), ('b'), ('B'), ('ä')`,
			`INSERT INTO latin VALUES ('a'), ('A'), ('b'), ('B'), ('ä')`,
			`INSERT INTO huge VALUES (1), (1` + strings.Repeat("0", 40) + `), (2` + strings.Repeat("0", 40) + `), (3` + strings.Repeat("0", 64) + `)`,
		},
		none:  []string{"beginning"},
		paged: map[string]int64{"folded": 5, "exact": 5, "latin": 5, "huge": 4},
	},
	catalogue.SQLite: {
		statements: []string{
			`CREATE TABLE other_index (code TEXT COLLATE NOCASE NOT NULL)`,
			`CREATE UNIQUE INDEX other ON other_index (code COLLATE BINARY)`,
			`CREATE TABLE trimmed (code TEXT COLLATE RTRIM NOT NULL, UNIQUE (code COLLATE NOCASE))`,
			`CREATE TABLE other_key (code TEXT COLLATE NOCASE, PRIMARY KEY (code COLLATE BINARY)) WITHOUT ROWID`,
			`CREATE TABLE downwards (code INTEGER PRIMARY KEY DESC)`,
			`CREATE TABLE no_row_id (code INT PRIMARY KEY)`,
			`CREATE TABLE unknown (code TEXT COLLATE BINARY NOT NULL UNIQUE)`,
			`CREATE TABLE own_index (code TEXT COLLATE NOCASE NOT NULL UNIQUE)`,
			`CREATE TABLE looser_index (code TEXT NOT NULL, UNIQUE (code COLLATE NOCASE))`,
			`CREATE TABLE row_id (code INTEGER PRIMARY KEY, note TEXT COLLATE NOCASE)`,
			`CREATE TABLE row_id_downwards (code INTEGER, PRIMARY KEY (code DESC))`,
			`CREATE TABLE without (code INT PRIMARY KEY) WITHOUT ROWID`,
			`CREATE TABLE strictly (code INT PRIMARY KEY) STRICT`,
			`CREATE TABLE foreign_collation (code TEXT COLLATE NOCASE NOT NULL UNIQUE)`,
			`PRAGMA writable_schema = 1`,
			`UPDATE sqlite_schema SET sql = replace(sql, 'NOCASE', 'applications_own') WHERE name = 'foreign_collation'`,
			`PRAGMA writable_schema = RESET`,
			`INSERT INTO other_index VALUES ('a1'), ('A1'), ('b1'), ('B1'), ('c1')`,
			`INSERT INTO trimmed VALUES ('a'), ('a '), ('b')`,
			`INSERT INTO other_key SELECT code FROM other_index`,
			`INSERT INTO downwards VALUES (NULL), (NULL), (1)`,
			`INSERT INTO no_row_id VALUES (NULL), (NULL), (1)`,
			`INSERT INTO own_index VALUES ('a'), ('B'), ('c'), ('D')`,
			`INSERT INTO looser_index SELECT code FROM own_index`,
			`INSERT INTO unknown SELECT code FROM other_index`,
			`INSERT INTO row_id (code) VALUES (1), (2), (-3), (4)`,
			`INSERT INTO row_id_downwards SELECT code FROM row_id`,
			`INSERT INTO without SELECT code FROM row_id`,
			`INSERT INTO strictly SELECT code FROM row_id`,
		},
		none:  []string{"other_index", "trimmed", "other_key", "foreign_collation", "downwards", "no_row_id"},
		noted: []string{"other_index", "trimmed", "other_key", "foreign_collation"},
		paged: map[string]int64{"own_index": 4, "looser_index": 4, "unknown": 5, "row_id": 4, "row_id_downwards": 4, "without": 4, "strictly": 4},
	},
}

// A key that is unique, but not as paging compares, would lose the rows between equal
// ones: a count is what pages of any size give together, or the table has no key.
func TestKeysAreUniqueAsPagesCompare(t *testing.T) {
	t.Parallel()
	for _, d := range databases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			d.db.SetMaxOpenConns(1)
			k := keyeds[d.dialect]
			for _, statement := range k.statements {
				d.exec(t, statement)
			}
			c := d.open(t, catalogue.Model{})
			for _, name := range k.none {
				table, found := c.Table(name)
				if !found || len(table.Keys) > 0 {
					t.Errorf("%s: %+v", name, table)
				}
				noted := slices.ContainsFunc(c.Notes, func(n string) bool { return strings.HasPrefix(n, "table "+name+": its unique index ") })
				if noted != slices.Contains(k.noted, name) {
					t.Errorf("%s: notes %q", name, c.Notes)
				}
				if table != nil && len(table.Keys) > 0 {
					pagesHoldAll(t, d, c, name, -1)
				}
			}
			for name, rows := range k.paged {
				pagesHoldAll(t, d, c, name, rows)
			}
		})
	}
}

func pagesHoldAll(t *testing.T, d *database, c *catalogue.Catalogue, table string, want int64) {
	t.Helper()
	plan, err := lens.Where(table, lens.Everyone{}).Selecting("code").Check(c, lens.Scope{})
	if err != nil {
		t.Errorf("%s: %v", table, err)
		return
	}
	q, err := plan.Bind(lens.Bindings{Now: worldNow})
	if err != nil {
		t.Fatal(err)
	}
	n, err := q.Count(t.Context(), d.source)
	if err != nil || want >= 0 && n != want {
		t.Errorf("%s counts %d (%v), want %d", table, n, err, want)
	}
	for _, size := range []int{1, 3} {
		seen := map[string]bool{}
		var after lens.Cursor
		var met int64
		for met <= n {
			p, err := q.Page(t.Context(), d.source, after, size)
			if err != nil {
				t.Errorf("%s by %d: %v", table, size, err)
				break
			}
			for _, row := range p.Rows {
				seen[fmt.Sprint(row["code"])] = true
				met++
			}
			if after = p.Next; after == "" {
				break
			}
		}
		if met != n || want >= 0 && table != "parted" && int64(len(seen)) != n {
			t.Errorf("%s by %d: %d rows, %d of them different, of %d", table, size, met, len(seen), n)
		}
	}
}

// A schema that does not exist must not leave another one in force.
func TestASearchPathLeadsSomewhere(t *testing.T) {
	t.Parallel()
	for _, d := range databases(t)[:1] {
		d.exec(t, "CREATE TABLE users (id int PRIMARY KEY)")
		d.exec(t, `CREATE SCHEMA "Te, ""nant"`)
		d.exec(t, `CREATE TABLE "Te, ""nant".others (id int PRIMARY KEY)`)
		for path, want := range map[string]string{
			``:                           "users",
			`public`:                     "users",
			`"$user", public`:            "users",
			`PUBLIC`:                     "users",
			`"Te, ""nant", public`:       "others",
			`"$user","Te, ""nant"`:       "others",
			`tenant_x`:                   `search_path: schema "tenant_x" does not exist`,
			`tenant_x, public`:           `search_path: schema "tenant_x" does not exist`,
			`"$user", tenant_x, public`:  `search_path: schema "tenant_x" does not exist`,
			`tenant_x, "$user", public`:  `search_path: schema "tenant_x" does not exist`,
			`"$user"`:                    `names no schema`,
			`"Public"`:                   `search_path: schema "Public" does not exist`,
			`schemas: public, misspelt`:  `schemas: schema "misspelt" does not exist`,
			`schemas: misspelt, nothing`: `schemas: schema "misspelt" does not exist`,
		} {
			u, err := url.Parse(d.dsn)
			if err != nil {
				t.Fatal(err)
			}
			var options source.Options
			if names, given := strings.CutPrefix(path, "schemas: "); given {
				options.Schemas = strings.Split(names, ", ")
			} else if path != "" {
				values := u.Query()
				values.Set("search_path", path)
				u.RawQuery = strings.ReplaceAll(values.Encode(), "+", "%20")
			}
			s, err := source.Open(t.Context(), u.String(), options)
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.Catalogue(t.Context(), catalogue.Model{})
			_ = s.Close()
			switch {
			case err != nil && !strings.Contains(err.Error(), want), err == nil && strings.Contains(want, " "):
				t.Errorf("%s: %v, want %s", path, err, want)
			case err == nil && (len(c.Tables()) != 1 || c.Tables()[0].Name != want):
				t.Errorf("%s: %+v, want %s", path, c.Tables(), want)
			}
		}
	}
}
