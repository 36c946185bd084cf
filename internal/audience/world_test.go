package audience_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/address"
	"github.com/postledger/postledger/internal/audience"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// shop is an application's database. Its people have the addresses of the reported
// cases: B22 (letter case), B57 (null), B58 (wildcards).
var shop = []string{
	`CREATE TABLE companies (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(40), mail VARCHAR(80), tenant BIGINT NOT NULL)`,
	`CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY, email VARCHAR(200), name VARCHAR(80), country VARCHAR(2), language VARCHAR(10),
		tenant BIGINT NOT NULL, seen_at TIMESTAMP NULL, password_hash VARCHAR(80), company_id BIGINT, FOREIGN KEY (company_id) REFERENCES companies (id))`,
	`CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT NOT NULL, total DECIMAL(10,2), FOREIGN KEY (user_id) REFERENCES users (id))`,
	`INSERT INTO companies VALUES (1, 'Holt', 'desk@holt.test', 1), (2, 'Berg', NULL, 2)`,
	`INSERT INTO users (id, email, name, country, tenant, company_id) VALUES
		(1, 'Mira.Holt@RCV.test', 'Mira', 'NO', 1, 1), (2, 'mira.holt@rcv.test', 'Mira Holt', 'SE', 1, 1),
		(3, 'a_b@rcv.test', '50%off', NULL, 1, 2), (4, 'acb@rcv.test', '50xoff', 'NO', 1, 2), (5, NULL, 'No One', NULL, 1, NULL),
		(6, '  ', 'Blank', 'NO', 1, NULL), (7, 'not an address', 'Odd', 'NO', 1, NULL), (8, 'x@in.test', 'X', 'NO', 2, NULL),
		(9, 'MIRA.HOLT@rcv.test', 'M', NULL, 2, NULL)`,
	`INSERT INTO orders VALUES (1, 1, 100.25), (2, 1, 5.55), (3, 4, 7.75)`,
}

// world is a ledger with two apps, and the service over one source, "shop", that
// the first of them may use.
type world struct {
	*audience.Service
	t           *testing.T
	dialect     catalogue.Dialect
	db          *sql.DB
	ledger      *ledger.Ledger
	app, other  postledger.App
	opened      audience.Opened
	down        error
	now         time.Time
	fresh, asks int
	// during is called whenever the source is asked for.
	during func()
}

// Open is the world's Sources.
func (w *world) Open(_ context.Context, name string, app postledger.App, fresh bool) (audience.Opened, error) {
	w.asks++
	if w.during != nil {
		w.during()
	}
	switch {
	case name != "shop" || app.ID != w.app.ID:
		return audience.Opened{}, audience.ErrSourceUnknown
	case w.down != nil:
		return audience.Opened{}, w.down
	}
	if fresh {
		w.fresh++
		w.read()
	}
	return w.opened, nil
}

func (w *world) read() {
	w.t.Helper()
	var err error
	w.opened.Catalogue, err = w.opened.Source.Catalogue(w.t.Context(), catalogue.Model{})
	must(w.t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) exec(statement string, args ...any) {
	w.t.Helper()
	if _, err := w.db.ExecContext(w.t.Context(), statement, args...); err != nil {
		w.t.Fatalf("%s: %s: %v", w.dialect, statement, err)
	}
}

// sources runs a test over each kind of database.
func sources(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for _, dialect := range []catalogue.Dialect{catalogue.SQLite, catalogue.PostgreSQL, catalogue.MySQL} {
		t.Run(string(dialect), func(t *testing.T) { test(t, newWorld(t, dialect, shop)) })
	}
}

func newWorld(t *testing.T, dialect catalogue.Dialect, statements []string, change ...func(*audience.Config)) *world {
	t.Helper()
	w := &world{t: t, dialect: dialect, now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	var driver, dsn, sourceDSN string
	switch dialect {
	case catalogue.SQLite:
		dsn = filepath.Join(t.TempDir(), "app.db")
		driver, sourceDSN = "sqlite", "sqlite:"+dsn
	case catalogue.PostgreSQL:
		dsn = testserver.Postgres(t)
		driver, sourceDSN = "pgx", dsn
	case catalogue.MySQL:
		c, err := mysql.ParseDSN(testserver.MariaDB(t))
		must(t, err)
		u := url.URL{Scheme: "mysql", User: url.UserPassword(c.User, c.Passwd), Host: c.Addr, Path: "/" + c.DBName}
		driver, dsn, sourceDSN = "mysql", c.FormatDSN(), u.String()
	}
	var err error
	w.db, err = sql.Open(driver, dsn)
	must(t, err)
	t.Cleanup(func() { must(t, w.db.Close()) })
	for _, s := range statements {
		w.exec(s)
	}
	w.opened.Source, err = source.Open(t.Context(), sourceDSN, source.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, w.opened.Source.Close()) })
	w.read()
	w.ledger, err = ledger.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, w.ledger.Close()) })
	must(t, w.ledger.Migrate(t.Context()))
	w.app, w.other = postledger.App{ID: w.ledger.NewID(), Name: "shop"}, postledger.App{ID: w.ledger.NewID(), Name: "forum"}
	c := audience.Config{Ledger: w.ledger, Sources: w, Dir: filepath.Join(t.TempDir(), "counts"), Now: func() time.Time { return w.now }}
	for _, f := range change {
		f(&c)
	}
	w.Service = audience.New(c)
	return w
}

// suppress puts an address on the first app's list.
func (w *world) suppress(text string) {
	w.t.Helper()
	a, err := address.Parse(text)
	must(w.t, err)
	must(w.t, w.ledger.PutSuppression(w.t.Context(), ledger.Suppression{AppID: w.app.ID, AddressFolded: a.Fold(), Reason: "asked", Source: "app"},
		postledger.AuditEvent{ID: w.ledger.NewID(), Action: "suppression.put", Result: "done"}))
}

// scope sets the floor.
func (w *world) scope(text string) {
	w.t.Helper()
	s, err := lens.ParseScope([]byte(text))
	must(w.t, err)
	must(w.t, s.Check(w.opened.Catalogue))
	w.opened.Floor = s
}

// of is an audience of users with a where.
func of(where string) postledger.AudienceDefinition {
	return postledger.AudienceDefinition{
		Source: "shop", Address: "email", Category: postledger.CategoryActivity,
		Lens: json.RawMessage(`{"from":"users","where":` + where + `,"select":["email","name"],"zone":"Europe/Oslo"}`),
	}
}

func (w *world) count(d postledger.AudienceDefinition) audience.Counts {
	w.t.Helper()
	p, err := w.Preview(w.t.Context(), w.app, d, nil, audience.Want{Counts: true}, func(audience.Progress) {})
	if err != nil {
		w.t.Fatalf("%s: count %s: %v", w.dialect, d.Lens, err)
	}
	n := *p.Counts
	if n.Matched != n.Mailable+n.NoAddress+n.Invalid+n.Duplicate+n.Suppressed {
		w.t.Errorf("%s: the counts do not add up: %+v", w.dialect, n)
	}
	return n
}

// problems are what is wrong, "field: message"; it fails when nothing is.
func problems(t *testing.T, err error) []audience.Problem {
	t.Helper()
	var wrong *audience.InvalidError
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v, want an invalid audience", err)
	}
	return wrong.Problems
}
