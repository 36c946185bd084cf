package lens_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// database is one of the three, with a connection that may write and a source
// that may not.
type database struct {
	dialect catalogue.Dialect
	dsn     string
	db      *sql.DB
	source  *source.Source
}

// databases starts all three, empty.
func databases(t *testing.T) []*database {
	t.Helper()
	config, err := mysql.ParseDSN(testserver.MariaDB(t))
	if err != nil {
		t.Fatal(err)
	}
	maria := url.URL{Scheme: "mysql", User: url.UserPassword(config.User, config.Passwd), Host: config.Addr, Path: "/" + config.DBName}
	postgres, file := testserver.Postgres(t), filepath.Join(t.TempDir(), "app.db")
	return []*database{
		connect(t, catalogue.PostgreSQL, "pgx", postgres, postgres),
		connect(t, catalogue.MySQL, "mysql", config.FormatDSN(), maria.String()),
		connect(t, catalogue.SQLite, "sqlite", file, "sqlite:"+file),
	}
}

func connect(t *testing.T, dialect catalogue.Dialect, driver, dsn, sourceDSN string) *database {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &database{dialect: dialect, dsn: sourceDSN, db: db}
}

func (d *database) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := d.db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %s: %v", d.dialect, statement, err)
	}
}

// open opens the source, once the tables exist.
func (d *database) open(t *testing.T, model catalogue.Model) *catalogue.Catalogue {
	t.Helper()
	if d.source == nil {
		opened, err := source.Open(t.Context(), d.dsn, source.Options{})
		if err != nil {
			t.Fatalf("%s: %v", d.dialect, err)
		}
		t.Cleanup(func() { _ = opened.Close() })
		d.source = opened
	}
	c, err := d.source.Catalogue(t.Context(), model)
	if err != nil {
		t.Fatalf("%s: %v", d.dialect, err)
	}
	return c
}

// world is a schema with its data, in memory and in every database:
//
//	orgs ←(org_id, may be null) people ←(person_id, may be null) items
//	people ↔ tags, through people_tags
type world struct {
	databases  []*database
	catalogues []*catalogue.Catalogue
	columns    map[string][]sort
	rows       map[string][]lens.Row
	raws       map[string][][]any
}

var worldTables = []string{"orgs", "people", "items", "tags"}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	w := &world{databases: databases(t), columns: map[string][]sort{}, rows: map[string][]lens.Row{}, raws: map[string][][]any{}}
	all := sorts()
	for _, table := range worldTables {
		n := 3
		if table == "people" {
			n = 8
		}
		for _, i := range r.Perm(len(all))[:n] {
			w.columns[table] = append(w.columns[table], all[i])
		}
	}
	w.fill(r)
	for _, d := range w.databases {
		w.create(t, d)
		w.insert(t, d)
		m, err := catalogue.ParseModel([]byte(w.model(d.dialect)))
		if err != nil {
			t.Fatal(err)
		}
		w.catalogues = append(w.catalogues, d.open(t, m))
	}
	return w
}

// model declares the relation without a foreign key, and what SQLite's own types
// do not know: a wall clock's time.
func (w *world) model(d catalogue.Dialect) string {
	model := "tables:\n"
	for _, table := range worldTables {
		model += "  " + table + ":\n    name: " + table + "\n"
		if d == catalogue.SQLite && slices.ContainsFunc(w.columns[table], func(s sort) bool { return s.name == "wall" }) {
			model += "    columns: {wall: {kind: timestamp}}\n"
		}
		if table == "people" {
			model += "    relations:\n" +
				"      tags: {to: tags, through: {table: people_tags, on: {id: person_id}, to: {tag_id: id}}}\n"
		}
	}
	return model
}

// fill makes rows and ties them to each other, so that the evaluator sees what
// the database joins.
func (w *world) fill(r *rand.Rand) {
	sizes := map[string]int{"orgs": 4, "people": 40, "items": 50, "tags": 4}
	for _, table := range worldTables {
		for id := range sizes[table] {
			row := lens.Row{"id": fmt.Sprint(id + 1)}
			raw := []any{int64(id + 1)}
			for _, s := range w.columns[table] {
				c := cell{}
				if r.IntN(5) > 0 {
					c = s.any(r)
				}
				row[s.name] = c.row
				raw = append(raw, c.raw)
			}
			w.rows[table] = append(w.rows[table], row)
			w.raws[table] = append(w.raws[table], raw)
		}
	}
	for _, org := range w.rows["orgs"] {
		org["people"] = []lens.Row{}
	}
	for i, person := range w.rows["people"] {
		person["items"], person["tags"] = []lens.Row{}, []lens.Row{}
		w.tie(r, "people", i, "org", "orgs", "people")
		for j := range w.rows["tags"] {
			if r.IntN(4) == 0 {
				person["tags"] = append(person["tags"].([]lens.Row), w.rows["tags"][j])
				w.raws["people_tags"] = append(w.raws["people_tags"], []any{int64(i + 1), int64(j + 1)})
			}
		}
	}
	for i := range w.rows["items"] {
		w.tie(r, "items", i, "person", "people", "items")
	}
}

// tie gives a row a parent, or none.
func (w *world) tie(r *rand.Rand, table string, i int, forward, parent, back string) {
	row := w.rows[table][i]
	row[forward], row[forward+"_id"] = nil, nil
	var id any
	if at := r.IntN(len(w.rows[parent]) + 1); at < len(w.rows[parent]) {
		to := w.rows[parent][at]
		row[forward], row[forward+"_id"] = to, to["id"]
		to[back] = append(to[back].([]lens.Row), row)
		id = int64(at + 1)
	}
	w.raws[table][i] = append(w.raws[table][i], id)
}

func (w *world) create(t *testing.T, d *database) {
	t.Helper()
	if d.dialect == catalogue.PostgreSQL {
		d.exec(t, "CREATE COLLATION fuzzy (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
	}
	parents := map[string]string{"people": "org_id BIGINT, FOREIGN KEY (org_id) REFERENCES orgs (id)", "items": "person_id BIGINT, FOREIGN KEY (person_id) REFERENCES people (id)"}
	for _, table := range worldTables {
		columns := []string{"id BIGINT NOT NULL PRIMARY KEY"}
		for _, s := range w.columns[table] {
			columns = append(columns, d.dialect.Quote(s.name)+" "+s.in(d.dialect))
		}
		if parent := parents[table]; parent != "" {
			columns = append(columns, parent)
		}
		d.exec(t, "CREATE TABLE "+table+" ("+strings.Join(columns, ", ")+")")
	}
	d.exec(t, "CREATE TABLE people_tags (person_id BIGINT NOT NULL, tag_id BIGINT NOT NULL, PRIMARY KEY (person_id, tag_id))")
}

func (s sort) in(d catalogue.Dialect) string {
	return map[catalogue.Dialect]string{catalogue.PostgreSQL: s.postgres, catalogue.MySQL: s.mysql, catalogue.SQLite: s.sqlite}[d]
}

// insert writes all rows in one transaction.
func (w *world) insert(t *testing.T, d *database) {
	t.Helper()
	tx, err := d.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	exec := func(statement string, args ...any) {
		if _, err := tx.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %s: %v", d.dialect, statement, err)
		}
	}
	if d.dialect == catalogue.MySQL {
		exec("SET time_zone = '+00:00'")
	}
	for _, table := range append(slices.Clone(worldTables), "people_tags") {
		for _, raw := range w.raws[table] {
			marks := make([]string, len(raw))
			for i := range raw {
				marks[i] = "?"
				if d.dialect == catalogue.PostgreSQL {
					marks[i] = w.postgresMark(table, i)
				}
			}
			exec("INSERT INTO "+table+" VALUES ("+strings.Join(marks, ", ")+")", raw...)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func (w *world) postgresMark(table string, i int) string {
	mark := fmt.Sprintf("$%d", i+1)
	if table == "people_tags" || i == 0 || i > len(w.columns[table]) {
		return mark
	}
	s := w.columns[table][i-1]
	switch s.kind {
	case catalogue.Bool, catalogue.Int, catalogue.Float, catalogue.Bytes:
		return mark
	}
	return mark + "::text::" + strings.TrimSuffix(s.postgres, " COLLATE fuzzy")
}

func (w *world) each(t *testing.T, do func(d *database, c *catalogue.Catalogue)) {
	t.Helper()
	for i, d := range w.databases {
		do(d, w.catalogues[i])
	}
}
