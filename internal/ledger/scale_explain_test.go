package ledger_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/testserver"
)

// check runs each operation and explains what it sent.
func (p *planned) check(t *testing.T, cond func(*operation) string) {
	defer func(t *testing.T) { p.T = t }(p.T)
	for i := range operations {
		op := &operations[i]
		if op.postgresOnly && p.SQLite() {
			continue
		}
		t.Run(op.name, func(t *testing.T) {
			p.T = t
			sent := p.trace.Of(op.prepare(p))
			var used []string
			asked := false
			for _, s := range sent {
				for _, plan := range p.explain(s) {
					for _, a := range plan {
						if !slices.Contains(used, a.String()) {
							used = append(used, a.String())
						}
						asked = asked || strings.Contains(a.cond, cond(op))
					}
				}
			}
			slices.Sort(used)
			if !slices.Equal(used, op.indexes) {
				t.Errorf("reads %q, want %q", used, op.indexes)
			}
			if !asked {
				t.Errorf("no index is asked for %q", cond(op))
			}
			if t.Failed() {
				for _, s := range sent {
					t.Logf("%.2000s\n%#v", s.SQL, p.explain(s))
				}
			}
		})
	}
}

// The planner knows the tables by its last ANALYZE, and autovacuum runs that
// when it likes. So the statements are explained under each state of its
// knowledge: none at all; all rows queued; everything else settled since then
// and not known; nearly everything settled and one row sending, known, while
// thousands are sending.
func TestPlansPostgres(t *testing.T) {
	url := testserver.Postgres(t)
	p := newPlanned(t, url, 60_000)
	p.end = 2000
	conn, err := ledger.ConnectPostgres(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	plans := explainPostgres
	p.explain = func(s ledger.Statement) [][]access { return plans(p.T, conn, s) }
	analyze := func() { admin(t, "pgx", url, `ANALYZE deliveries, messages, contents, idempotency_keys`) }

	admin(t, "pgx", url,
		`ALTER TABLE deliveries SET (autovacuum_enabled = off)`, `ALTER TABLE messages SET (autovacuum_enabled = off)`,
		`ALTER TABLE contents SET (autovacuum_enabled = off)`, `ALTER TABLE idempotency_keys SET (autovacuum_enabled = off)`)
	cond := func(op *operation) string { return op.postgres }
	ledgertest.FillPostgres(t, url, p.backlog(0, 2000)...)
	plans = genericPostgres
	t.Run("nearly empty", func(t *testing.T) { p.check(t, cond) })
	plans = explainPostgres
	ledgertest.FillPostgres(t, url, p.backlog(2000, p.shared)...)
	p.end = p.shared
	t.Run("never analyzed", func(t *testing.T) { p.check(t, cond) })
	analyze()
	t.Run("all queued", func(t *testing.T) { p.check(t, cond) })
	ledgertest.FillPostgres(t, url, p.history(120_000))
	t.Run("history unknown", func(t *testing.T) { p.check(t, cond) })
	admin(t, "pgx", url, `UPDATE deliveries SET lease_worker = NULL, status = 'sent' WHERE lease_worker IS NOT NULL`)
	p.Send([]string{"one@rcpt.example"})
	if n := len(p.LeaseFor(p.StartNewWorker().ID, ledger.Want{Key: p.Key(postledger.LaneImmediate), N: 1}).Leased); n == 0 {
		t.Fatal("leased nothing")
	}
	analyze()
	t.Run("few sending", func(t *testing.T) { p.check(t, cond) })
}

// SQLite plans without knowledge unless somebody runs ANALYZE.
func TestPlansSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	p := newPlanned(t, "sqlite://"+path, 6_000)
	ledgertest.FillSQLite(t, path, append(p.backlog(0, p.shared), p.history(2_000))...)
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	p.explain = func(s ledger.Statement) [][]access { return [][]access{explainSQLite(p.T, db, s)} }
	cond := func(op *operation) string { return op.sqlite }
	t.Run("never analyzed", func(t *testing.T) { p.check(t, cond) })
	admin(t, "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)", `ANALYZE`)
	t.Run("analyzed", func(t *testing.T) { p.check(t, cond) })
}

func newPlanned(t *testing.T, url string, shared int) *planned {
	t.Helper()
	p := &planned{shared: shared, end: shared}
	var l *ledger.Ledger
	p.World = ledgertest.NewWorld(t, func(t *testing.T) *ledger.Ledger { l = open(t, url); return l })
	var err error
	if p.trace, err = ledger.NewTrace(l, url); err != nil {
		t.Fatal(err)
	}
	return p
}

// backlog is what waits: a third as many rows as the bulk lane has wait in
// envelopes of ten. It is written in parts, from and to rows of the bulk lane.
func (p *planned) backlog(from, to int) []ledgertest.Fill {
	first := func(n int) int { return p.shared + n/3 - n/3%10 }
	return []ledgertest.Fill{
		{
			From: from, To: to, App: p.App.ID, Profile: p.Profile.ID,
			Lane: postledger.LaneBulk, Status: postledger.StatusQueued, Group: 1, Due: fillDue(),
		},
		{
			From: first(from), To: first(to), App: p.App.ID, Profile: p.Profile.ID,
			Lane: postledger.LaneImmediate, Status: postledger.StatusQueued, Group: 10, Due: fillDue(),
		},
	}
}

// history is what was sent before.
func (p *planned) history(n int) ledgertest.Fill {
	return ledgertest.Fill{
		From: 1_000_000, To: 1_000_000 + n, App: p.App.ID, Profile: p.Profile.ID,
		Lane: postledger.LaneBulk, Status: postledger.StatusSent, Group: 1, Due: fillDue(),
	}
}

// node is a step of PostgreSQL's plan.
type node struct {
	Type     string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Index    string `json:"Index Name"`
	Cond     string `json:"Index Cond"`
	Plans    []node
}

func (n *node) walk(table string, out *[]access) {
	if n.Relation != "" {
		table = n.Relation
	}
	if slices.Contains(hot, n.Relation) && n.Type == "Seq Scan" {
		*out = append(*out, access{table: n.Relation})
	}
	if i := strings.Index(n.Index, "_"); i > 0 && slices.ContainsFunc(hot, func(t string) bool { return strings.HasPrefix(n.Index, t+"_") }) {
		*out = append(*out, access{index: n.Index, table: table, cond: n.Cond})
	}
	for i := range n.Plans {
		n.Plans[i].walk(table, out)
	}
}

// explainPostgres gives the plan for the statement's own arguments and the
// generic one.
func explainPostgres(t *testing.T, conn *pgx.Conn, s ledger.Statement) [][]access {
	t.Helper()
	if !plannable(s.SQL) {
		return nil
	}
	var text string
	if err := conn.QueryRow(t.Context(), `EXPLAIN (FORMAT JSON) `+s.SQL, append([]any{pgx.QueryExecModeDescribeExec}, s.Args...)...).Scan(&text); err != nil {
		t.Fatalf("explain %s: %v", s.SQL, err)
	}
	return append(genericPostgres(t, conn, s), accesses(t, text))
}

// genericPostgres gives the plan that a prepared statement may be given from
// its sixth run on and keeps until statistics change, however the tables grow.
func genericPostgres(t *testing.T, conn *pgx.Conn, s ledger.Statement) [][]access {
	t.Helper()
	if !plannable(s.SQL) {
		return nil
	}
	call := `EXPLAIN (FORMAT JSON) EXECUTE explained`
	if n := len(s.Args); n > 0 {
		call += `(NULL` + strings.Repeat(`, NULL`, n-1) + `)`
	}
	var text string
	for _, q := range []string{`SET plan_cache_mode = force_generic_plan`, `DEALLOCATE ALL`, `PREPARE explained AS ` + s.SQL} {
		if _, err := conn.Exec(t.Context(), q, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	if err := conn.QueryRow(t.Context(), call, pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		t.Fatalf("explain %s: %v", s.SQL, err)
	}
	return [][]access{accesses(t, text)}
}

func accesses(t *testing.T, plan string) []access {
	t.Helper()
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(plan), &plans); err != nil {
		t.Fatal(err)
	}
	var out []access
	plans[0].Plan.walk("", &out)
	return out
}

func plannable(query string) bool {
	verb, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(query)), " ")
	return slices.Contains([]string{"SELECT", "WITH", "UPDATE", "INSERT", "DELETE"}, verb)
}

var sqliteStep = regexp.MustCompile(`^(SEARCH|SCAN) (\w+)(?: USING (?:COVERING )?INDEX (\w+)| USING PRIMARY KEY)?(.*)`)

// aliases are the names our statements give the tables.
var aliases = map[string]string{"d": "deliveries", "m": "messages", "c": "contents", "b": "shared_bodies", "k": "idempotency_keys"}

func explainSQLite(t *testing.T, db *sql.DB, s ledger.Statement) []access {
	t.Helper()
	if !plannable(s.SQL) {
		return nil
	}
	rows, err := db.QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+s.SQL, make([]any, strings.Count(s.SQL, "?"))...)
	if err != nil {
		t.Fatalf("explain %s: %v", s.SQL, err)
	}
	defer rows.Close()
	var out []access
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		m := sqliteStep.FindStringSubmatch(detail)
		if m == nil {
			continue
		}
		table := m[2]
		if real, ok := aliases[table]; ok && strings.Contains(s.SQL, real+" "+table) {
			table = real
		}
		if !slices.Contains(hot, table) {
			continue
		}
		a := access{table: table, index: m[3], cond: m[4]}
		switch {
		case strings.HasPrefix(a.index, "sqlite_autoindex_"), strings.Contains(detail, "USING PRIMARY KEY"):
			a.index = table + "_pkey"
		}
		out = append(out, a)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func (a access) GoString() string { return fmt.Sprintf("%s %s", a, a.cond) }
