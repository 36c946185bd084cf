package main_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver registers itself
	_ "github.com/jackc/pgx/v5/stdlib" // likewise
	_ "modernc.org/sqlite"             // likewise

	"github.com/postledger/postledger/internal/testserver"
)

// shopTables are an application's, in words that the three databases share.
var shopTables = []string{
	"CREATE TABLE organizations (id integer PRIMARY KEY, title varchar(50) NOT NULL)",
	`CREATE TABLE people (id integer PRIMARY KEY, email varchar(200), password_hash varchar(80), organization_id integer,
		FOREIGN KEY (organization_id) REFERENCES organizations (id))`,
	"CREATE TABLE notes (body varchar(100))",
}

func execAll(t *testing.T, driver, dsn string, statements ...string) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestSourcesOfEachDatabase(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := filepath.Join(p.dir, "shop.db")
	execAll(t, "sqlite", "file:"+file, shopTables...)
	writable := testserver.Postgres(t)
	execAll(t, "pgx", writable, shopTables...)
	reader := testserver.Postgres(t)
	// An owner may take its own rights away.
	execAll(t, "pgx", reader, append(shopTables, "REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA public FROM CURRENT_USER")...)
	maria := testserver.MariaDB(t)
	execAll(t, "mysql", maria, shopTables...)
	model := filepath.Join(p.dir, "model.yaml")
	if err := os.WriteFile(model, []byte("tables: {people: {name: users}, notes: {key: [body]}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "POSTLEDGER_SOURCES__FILE__DSN=sqlite:"+file, "POSTLEDGER_SOURCES__FILE__MODEL="+model,
		"POSTLEDGER_SOURCES__LOOSE__DSN="+writable, "POSTLEDGER_SOURCES__STRICT__DSN="+reader,
		"POSTLEDGER_SOURCES__CRM__DSN="+mariaURL(t, maria))

	p.run(t, "sources", "ls").expect(t, 0, "file", "sqlite", "crm", "mysql", "strict", "postgresql")
	if out := p.run(t, "sources", "ls", "--json"); strings.Contains(out.stdout, "@") {
		t.Errorf("a login is shown:\n%s", out.stdout)
	}
	p.run(t, "sources", "show", "file").expect(t, 0, "users", "people", "organizations", "id")
	for name, table := range map[string]string{"file": "users", "loose": "people", "strict": "people", "crm": "people"} {
		p.run(t, "sources", "show", name, table).expect(t, 0, "email", "password_hash", `its name says "password"`, "organization", "→ organizations")
	}
	p.run(t, "sources", "show", "file", "organizations").expect(t, 0, "→ many users")
	p.run(t, "sources", "check", "strict").expect(t, 0, "its login can write nothing", "no unique key", "notes")
	p.run(t, "sources", "check", "loose").expect(t, 0, "warning", "its login can write")
	p.run(t, "sources", "check", "crm").expect(t, 0, "warning", "its login can write")
	p.run(t, "sources", "check", "file").expect(t, 0, "ok", "3 tables", "this user can write its file")
}

// mariaURL writes a DSN of the driver's own form as a URL.
func mariaURL(t *testing.T, dsn string) string {
	t.Helper()
	login, rest, _ := strings.Cut(dsn, "@tcp(")
	host, database, _ := strings.Cut(rest, ")/")
	database, _, _ = strings.Cut(database, "?")
	name, password, _ := strings.Cut(login, ":")
	return (&url.URL{Scheme: "mariadb", User: url.UserPassword(name, password), Host: host, Path: "/" + database}).String()
}

// What Postledger keeps about mail is never read by a lens, under whatever name.
func TestTheLedgerIsNoSource(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.run(t, "migrate", "up").expect(t, 0)
	ledger, link := filepath.Join(p.dir, "postledger.db"), filepath.Join(p.dir, "other.db")
	if err := os.Link(ledger, link); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "POSTLEDGER_SOURCES__A__DSN=sqlite:"+ledger, "POSTLEDGER_SOURCES__B__DSN=sqlite:"+link)
	for _, name := range []string{"a", "b"} {
		p.run(t, "sources", "check", name).expect(t, 1, "FAULT", "own ledger")
		p.run(t, "sources", "show", name).expect(t, 1, "own ledger")
	}
	pg := onPostgres(t)
	pg.run(t, "migrate", "up").expect(t, 0)
	database := ""
	for _, v := range pg.env {
		if url, found := strings.CutPrefix(v, "POSTLEDGER_DATABASE="); found {
			database = url
		}
	}
	other := testserver.Postgres(t)
	execAll(t, "pgx", other, shopTables...)
	pg.env = append(pg.env, "POSTLEDGER_SOURCES__A__DSN="+strings.Replace(database, "127.0.0.1", "localhost", 1), "POSTLEDGER_SOURCES__B__DSN="+other)
	pg.run(t, "sources", "check", "a").expect(t, 1, "FAULT", "own ledger")
	pg.run(t, "sources", "check", "b").expect(t, 0, "3 tables")
}

func TestSourcesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env = append(p.env, "POSTLEDGER_SOURCES__GONE__DSN=postgres://reader:topsecret@127.0.0.1:1/shop", "POSTLEDGER_SOURCES__FILE__DSN=sqlite:/nowhere/shop.db")
	for _, name := range []string{"gone", "file"} {
		r := p.run(t, "sources", "check", name).expect(t, 1, "FAULT", "source "+name)
		if strings.Contains(r.stdout+r.stderr, "topsecret") {
			t.Errorf("a password is shown:\n%s%s", r.stdout, r.stderr)
		}
	}
	p.run(t, "sources", "check", "none").expect(t, 2, `there is no source "none"`)
	// Whatever a DSN holds beside a place, and however it is written, is not shown.
	secret := newPlace(t)
	for i, dsn := range []string{
		"sqlite:/srv/x.db?_key=topsecret", "sqlite:///srv/x.db?_key=topsecret", "postgres://reader:topsecret@db/shop?sslpassword=topsecret",
		"postgres://reader:topsecret/9@db/shop", "postgres:/reader:topsecret@db/shop", "postgres://reader:9?topsecret@db/shop",
		"mysql://reader:9/topsecret@db/shop", "mysql://reader:9?topsecret@db/shop", "mysql://reader:9#topsecret@db/shop", "mysql://db/shop?topsecret=1",
	} {
		secret.env = append(secret.env, fmt.Sprintf("POSTLEDGER_SOURCES__S%d__DSN=%s", i, dsn))
	}
	for _, args := range [][]string{{"sources", "ls"}, {"sources", "ls", "--json"}} {
		r := secret.run(t, args...)
		if out := r.stdout + r.stderr; !strings.Contains(out, "s0") || strings.Contains(out, "topsecret") || strings.Contains(out, "reader") {
			t.Errorf("%v shows a secret, or nothing:\n%s", args, out)
		}
	}
	p.run(t, "sources", "show", "none").expect(t, 2, `there is no source "none"`)
	empty := newPlace(t)
	empty.run(t, "sources", "ls", "--json").expect(t, 0, "[]")
}
