package source_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// limit is the statement timeout of the sources here, and slack what a busy machine may
// take beyond it.
const (
	limit = time.Second
	slack = 6 * time.Second
)

// behind is a database that a proxy stands in front of.
type behind struct {
	proxy  *testserver.TCPProxy
	source *source.Source
	query  *lens.Query
}

func proxied(t *testing.T, scheme string) behind {
	t.Helper()
	driver, dsn := "pgx", ""
	var u *url.URL
	if scheme == "mysql" {
		config, err := mysql.ParseDSN(testserver.MariaDB(t))
		if err != nil {
			t.Fatal(err)
		}
		driver, dsn = "mysql", config.FormatDSN()
		u = &url.URL{Scheme: "mysql", User: url.UserPassword(config.User, config.Passwd), Host: config.Addr, Path: "/" + config.DBName}
	} else {
		dsn = testserver.Postgres(t)
		var err error
		if u, err = url.Parse(dsn); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"CREATE TABLE users (id bigint NOT NULL PRIMARY KEY, email varchar(40))", "INSERT INTO users VALUES (1, 'mira@rcpt.example')"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	b := behind{proxy: testserver.Proxy(t, u.Host)}
	u.Host = b.proxy.Addr()
	b.source, err = source.Open(t.Context(), u.String(), source.Options{Timeout: limit, Connect: limit, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.source.Close() })
	b.query = everyone(t, b.source)
	return b
}

func everyone(t *testing.T, s *source.Source) *lens.Query {
	t.Helper()
	c, err := s.Catalogue(t.Context(), catalogue.Model{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := lens.Where("users", lens.Everyone{}).Selecting("email").Check(c, lens.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := plan.Bind(lens.Bindings{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// calls are all that may be asked of a database.
func calls(q *lens.Query, s *source.Source) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"count":     func(ctx context.Context) error { _, err := q.Count(ctx, s); return err },
		"first":     func(ctx context.Context) error { _, _, err := q.First(ctx, s); return err },
		"page":      func(ctx context.Context) error { _, err := q.Page(ctx, s, "", 10); return err },
		"includes":  func(ctx context.Context) error { _, err := q.Includes(ctx, s, 1); return err },
		"explain":   func(ctx context.Context) error { _, err := q.Explain(ctx, s); return err },
		"catalogue": func(ctx context.Context) error { _, err := s.Catalogue(ctx, catalogue.Model{}); return err },
		"writable":  func(ctx context.Context) error { _, err := s.Writable(ctx, q.Table()); return err },
		"stream": func(ctx context.Context) error {
			for _, err := range q.Rows(ctx, s, "") {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// fails asks everything at once: each call ends within the limit, with the deadline as
// the reason where that is what ended it, and tells nothing of the DSN.
func fails(t *testing.T, asked map[string]func(context.Context) error, deadline bool) {
	t.Helper()
	var all sync.WaitGroup
	for name, call := range asked {
		all.Go(func() {
			began := time.Now()
			err := call(t.Context())
			took := time.Since(began)
			switch {
			case err == nil:
				t.Errorf("%s: no error", name)
			case took > limit+slack:
				t.Errorf("%s: took %s (%v)", name, took, err)
			case deadline && !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("%s: the reason is not the deadline: %v", name, err)
			case strings.Contains(err.Error(), "://"):
				t.Errorf("%s: the error tells the DSN: %v", name, err)
			}
		})
	}
	all.Wait()
}

func works(t *testing.T, q *lens.Query, s *source.Source) {
	t.Helper()
	var err error
	for range 10 { // a pool may still hold connections of before
		var n int64
		if n, err = q.Count(t.Context(), s); err == nil && n == 1 {
			return
		}
	}
	t.Errorf("it does not work again: %v", err)
}

// A database that says nothing any more, refuses, resets, crawls or has forgotten its
// connections: every call ends within its limit with an error, and works again when the
// database does.
func TestFaultsOnTheWay(t *testing.T) {
	for _, scheme := range []string{"postgres", "mysql"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			b := proxied(t, scheme)
			t.Run("no answer", func(t *testing.T) {
				b.proxy.Blackhole(true)
				fails(t, calls(b.query, b.source), true)
				b.proxy.Blackhole(false)
				works(t, b.query, b.source)
			})
			t.Run("refused", func(t *testing.T) {
				b.proxy.Refuse(true)
				b.proxy.Cut()
				fails(t, calls(b.query, b.source), false)
				b.proxy.Refuse(false)
				works(t, b.query, b.source)
			})
			t.Run("too slow", func(t *testing.T) {
				b.proxy.Delay(2 * limit)
				fails(t, calls(b.query, b.source), true)
				b.proxy.Delay(0)
				works(t, b.query, b.source)
			})
			t.Run("half open", func(t *testing.T) {
				b.proxy.Strand()
				began := time.Now()
				_, err := b.query.Count(t.Context(), b.source)
				if err == nil || time.Since(began) > limit+slack || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v after %s", err, time.Since(began))
				}
				works(t, b.query, b.source)
			})
			t.Run("cut in the middle", func(t *testing.T) {
				b.proxy.CutAfterBytes(testserver.ToClient, 40)
				if _, err := b.query.Page(t.Context(), b.source, "", 10); err == nil {
					t.Error("no error")
				}
				works(t, b.query, b.source)
			})
			t.Run("slow statement", func(t *testing.T) {
				sleep := map[string]string{"postgres": "SELECT 1 FROM pg_sleep(60)", "mysql": "SELECT SLEEP(60)"}[scheme]
				began := time.Now()
				err := b.source.Read(t.Context(), sleep, nil, func(scan func(...any) error) error { return scan(new(any)) })
				if took := time.Since(began); err == nil || took > limit+slack {
					t.Errorf("%v after %s", err, took)
				}
				works(t, b.query, b.source)
			})
			t.Run("close without an answer", func(t *testing.T) {
				b.proxy.Blackhole(true)
				began := time.Now()
				_ = b.source.Close()
				if took := time.Since(began); took > limit+slack {
					t.Errorf("closing took %s", took)
				}
			})
		})
	}
}

// A file that another program keeps locked.
func TestALockedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(statement string) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT)")
	exec("INSERT INTO users VALUES (1, 'mira@rcpt.example')")
	s, err := source.Open(t.Context(), "sqlite:"+path, source.Options{Timeout: limit, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	q := everyone(t, s)
	exec("BEGIN EXCLUSIVE")
	asked := calls(q, s)
	delete(asked, "writable") // asks the file system
	delete(asked, "explain")  // asks the plan, which needs no lock
	fails(t, asked, false)
	exec("ROLLBACK")
	works(t, q, s)
	began := time.Now()
	err = s.Read(t.Context(), "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", nil, func(scan func(...any) error) error { return scan(new(any)) })
	if err == nil || time.Since(began) > limit+slack {
		t.Errorf("a statement without an end: %v after %s", err, time.Since(began))
	}
	works(t, q, s)
}
