package api_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/postledger/postledger/internal/api"
	"github.com/postledger/postledger/internal/audience"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/testserver"
)

// Bounds of the counts here, and what a busy machine may take beyond them.
const (
	statementTime = time.Second
	countTime     = 4 * time.Second
	farSlack      = 6 * time.Second
	farPatience   = 20 * time.Second
)

// far is the API over two sources: "near" in a file, and "far", a PostgreSQL behind a
// proxy, whose 50,000 users take some seconds to count.
type far struct {
	*world
	proxy *testserver.TCPProxy
	db    *sql.DB
	heard chan audience.Outcome
}

// Counted makes it the observer of counts. Tests take what they expect.
func (f *far) Counted(outcome audience.Outcome, _ int64, _ time.Duration) { f.heard <- outcome }

func newFar(t *testing.T) *far {
	t.Helper()
	f := &far{heard: make(chan audience.Outcome, 100)}
	u, err := url.Parse(testserver.Postgres(t))
	must(t, err)
	f.db, err = sql.Open("pgx", u.String())
	must(t, err)
	t.Cleanup(func() { must(t, f.db.Close()) })
	for _, statement := range []string{
		`CREATE TABLE users (id bigint PRIMARY KEY, email text)`,
		`INSERT INTO users SELECT i, 'user.' || i || '@in.test' FROM generate_series(1, 50000) i`,
		`ANALYZE users`,
		`CREATE TABLE slow (id bigint PRIMARY KEY, email text)`,
		`INSERT INTO slow VALUES (1, 'user.1@in.test')`,
		`CREATE FUNCTION slowly(text) RETURNS text STABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(300); RETURN $1; END'`,
		`CREATE VIEW slow_users AS SELECT id, slowly(email) AS email FROM slow`,
	} {
		_, err := f.db.ExecContext(t.Context(), statement)
		must(t, err)
	}
	f.proxy = testserver.Proxy(t, u.Host)
	u.Host = f.proxy.Addr()
	near := filepath.Join(t.TempDir(), "near.db")
	db, err := sql.Open("sqlite", near)
	must(t, err)
	for _, statement := range []string{`CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT)`, `INSERT INTO users VALUES (1, 'ada@in.test')`} {
		_, err := db.ExecContext(t.Context(), statement)
		must(t, err)
	}
	must(t, db.Close())
	model := filepath.Join(t.TempDir(), "model.yaml")
	must(t, os.WriteFile(model, []byte("tables: {slow_users: {key: [id]}}\n"), 0o600))
	f.world = sqlite(t, func(c *api.Config) {
		sources := sourcesOf(t, fmt.Sprintf(`{near: {dsn: "sqlite:%s", apps: [shop]}, far: {dsn: %q, apps: [shop], timeout: %s, model: %s},
			patient: {dsn: %[2]q, apps: [shop], timeout: 10m, model: %[4]s}}`, near, u, statementTime, model), c.Log)
		asker, ok := c.Ledger.(audience.Ledger)
		if !ok {
			t.Fatalf("%T knows no suppressions", c.Ledger)
		}
		c.Audiences = audience.New(audience.Config{
			Ledger: asker, Sources: sources, Dir: t.TempDir(), Timeout: countTime, Counts: 12, Observer: f, Log: c.Log,
		})
	})
	return f
}

func aCount(source, table string) map[string]any {
	return map[string]any{"want": []string{"counts"}, "definition": map[string]any{
		"source": source, "address": "email", "category": "activity",
		"lens": map[string]any{"from": table, "where": map[string]any{"everyone": true}, "select": []string{"email"}},
	}}
}

// begin asks for a count in lines, and returns when the first has come.
func (f *far) begin(ctx context.Context, source, table string) (rest *bufio.Scanner, done func()) {
	f.t.Helper()
	text, err := json.Marshal(aCount(source, table))
	must(f.t, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.http.URL+"/v1/audiences/preview", bytes.NewReader(text))
	must(f.t, err)
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/x-ndjson"}, "Authorization": {"Bearer " + f.read}}
	resp, err := f.http.Client().Do(req)
	must(f.t, err)
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"progress"`) {
		f.t.Fatalf("%d: %s", resp.StatusCode, lines.Text())
	}
	return lines, func() { _ = resp.Body.Close() }
}

// last reads the lines to the end, and gives the last.
func last(t *testing.T, lines *bufio.Scanner) (tree map[string]any) {
	t.Helper()
	var text []byte
	for lines.Scan() {
		text = append(text[:0], lines.Bytes()...)
	}
	must(t, lines.Err())
	return treeOf(t, text)
}

// others asks what has nothing to do with the source.
func (f *far) others() {
	f.t.Helper()
	began := time.Now()
	f.call("GET", "/v1/audiences", f.read, nil).want(http.StatusOK)
	f.call("POST", "/v1/messages", f.send, letter()).want(http.StatusAccepted)
	if a := f.call("POST", "/v1/audiences/preview", f.read, aCount("near", "users")).want(http.StatusOK); a.number("counts", "matched") != 1 {
		f.t.Errorf("near: %s", a.body)
	}
	if took := time.Since(began); took > farSlack {
		f.t.Errorf("other requests took %s", took)
	}
}

// ended takes what the observer heard, in any order.
func (f *far) ended(want ...audience.Outcome) {
	f.t.Helper()
	var got []audience.Outcome
	for range want {
		select {
		case o := <-f.heard:
			got = append(got, o)
		case <-time.After(farPatience):
			f.t.Fatalf("of the counts that should end as %q, %q did", want, got)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		f.t.Errorf("the counts ended %q, want %q", got, want)
	}
}

// quiet waits until nothing is left of counts: no goroutine here, no statement there.
func (f *far) quiet() {
	f.t.Helper()
	eventually(f.t, "a goroutine of a count is left", func() bool {
		stacks := make([]byte, 4<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !bytes.Contains(stacks, []byte("audience.(*Service).count(")) && !bytes.Contains(stacks, []byte("lens.(*reading)"))
	})
	eventually(f.t, "a statement of a count is left", func() bool { return f.statements() == 0 })
}

func (f *far) statements() (n int) {
	f.t.Helper()
	must(f.t, f.db.QueryRowContext(f.t.Context(),
		`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'lens' AND state <> 'idle'`).Scan(&n))
	return n
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(farPatience); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("still so after %s: %s", farPatience, what)
		}
	}
}

// A source that stops, refuses, forgets its connections or crawls in the middle of a
// count: the count ends within its limits and says so, in lines and without, and nobody
// else notices.
func TestCountsOverASourceThatFails(t *testing.T) {
	t.Parallel()
	const slowly = 400_000 // bytes a second: some five seconds for a count
	f := newFar(t)
	f.proxy.Rate(slowly)
	for _, fault := range []struct {
		name    string
		on, off func()
		// recovers: connections that are made anew work.
		recovers bool
	}{
		{"says nothing more", func() { f.proxy.Blackhole(true) }, func() { f.proxy.Blackhole(false) }, false},
		{"refuses", func() { f.proxy.Refuse(true); f.proxy.Cut() }, func() { f.proxy.Refuse(false) }, false},
		{"crawls", func() { f.proxy.Rate(3_000) }, func() { f.proxy.Rate(slowly) }, false},
		{"forgets its connections", f.proxy.Strand, func() {}, true},
	} {
		f.run(fault.name, func(t *testing.T) {
			lines, done := f.begin(t.Context(), "far", "users")
			defer done()
			began := time.Now()
			fault.on()
			var other sync.WaitGroup
			other.Go(f.others)
			problem, _ := last(t, lines)["problem"].(map[string]any)
			if problem["code"] != "source_unavailable" || problem["status"] != 503.0 {
				t.Errorf("the last line tells of %v", problem)
			}
			if took := time.Since(began); took > countTime+farSlack {
				t.Errorf("it ended after %s", took)
			}
			other.Wait()
			f.ended(audience.OutcomeDone, audience.OutcomeUnavailable)
			if !fault.recovers {
				began = time.Now()
				f.call("POST", "/v1/audiences/preview", f.read, aCount("far", "users")).refused("source_unavailable")
				if took := time.Since(began); took > countTime+farSlack {
					t.Errorf("one that began later ended after %s", took)
				}
				f.ended(audience.OutcomeUnavailable)
			}
			fault.off()
			f.quiet()
			f.proxy.Rate(0)
			defer f.proxy.Rate(slowly)
			// The pool may hold connections of before: each is found out by one statement.
			for try := 0; ; try++ {
				a := f.call("POST", "/v1/audiences/preview", f.read, aCount("far", "users"))
				if a.status == http.StatusOK && a.number("counts", "matched") == 50_000 {
					f.ended(audience.OutcomeDone)
					return
				}
				f.ended(audience.OutcomeUnavailable)
				if try == 3 {
					t.Fatalf("it does not work again: %s", a.body)
				}
			}
		})
	}
}

// A caller who goes away ends the statement at the server, also one that would go on for
// minutes; and a count that may not last so long does.
func TestCountsEndAtTheServerToo(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	ctx, leave := context.WithCancel(t.Context())
	_, done := f.begin(ctx, "patient", "slow_users")
	eventually(t, "the statement does not run", func() bool { return f.statements() == 1 })
	leave()
	done()
	f.ended(audience.OutcomeGone)
	f.quiet()
	began := time.Now()
	f.call("POST", "/v1/audiences/preview", f.read, aCount("patient", "slow_users")).refused("count_timeout")
	if took := time.Since(began); took > countTime+farSlack {
		t.Errorf("it ended after %s", took)
	}
	f.ended(audience.OutcomeTooLong)
	f.quiet()
	f.call("POST", "/v1/audiences/preview", f.read, aCount("far", "slow_users")).refused("source_unavailable")
	f.ended(audience.OutcomeUnavailable)
	f.quiet()
	if a := f.call("POST", "/v1/audiences/preview", f.read, aCount("far", "users")).want(http.StatusOK); a.number("counts", "matched") != 50_000 {
		t.Errorf("afterwards: %s", a.body)
	}
	page, err := f.ledger.Audit(t.Context(), ledger.AuditFilter{Action: "audience.preview"}, ledger.Paging{Limit: 100})
	must(t, err)
	if len(page.Items) < 4 {
		t.Errorf("audited %+v", page.Items)
	}
}
