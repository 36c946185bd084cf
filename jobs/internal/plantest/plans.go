// Package plantest asks a database how it would run the statements of an outbox
// with 200,000 rows.
package plantest

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/internal/sqlbox"
)

// Fill writes 200,000 rows: most wait in the fast lane, a tenth each is slow, has
// a key, has one of a hundred groups, is scheduled or admitted; a few are set
// aside. idOf is the dialect's expression for an id from the number n.
func Fill(t *testing.T, db *sql.DB, idOf string, after ...string) {
	t.Helper()
	fill := `INSERT INTO job_outbox (` + sqlbox.Columns + `, changed_at)
		WITH RECURSIVE a (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM a WHERE i < 447),
			rows_of (n) AS (SELECT x.i * 448 + y.i FROM a x CROSS JOIN a y)
		SELECT ` + idOf + `, 1,
			CASE WHEN n % 1000 = 7 THEN 3 WHEN n % 10 = 5 THEN 1 WHEN n % 10 = 6 AND n < 100000 THEN 2 ELSE 0 END,
			CASE WHEN n % 10 = 1 THEN 1 ELSE 0 END,
			CASE WHEN n % 10 = 2 THEN concat('g', n / 10 % 100) ELSE '' END,
			'h', CASE WHEN n % 10 = 3 THEN concat('k', n) ELSE NULL END,
			0, 0, 1, '0123456789012345678901234567890123456789', CASE WHEN n % 10 = 5 THEN 4000000000000000 + n ELSE 0 END,
			25, 0, 0, 1, 0, '', 'e', 1000000 + n FROM rows_of`
	for _, statement := range append([]string{fill}, after...) {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM job_outbox").Scan(&n); err != nil || n < 200_000 {
		t.Fatalf("%d rows (%v)", n, err)
	}
}

// Statement is one whose plan matters.
type Statement struct {
	Name string
	SQL  string
	Args []any
	// Index is what it must find its rows by, without the prefix job_outbox_;
	// "place" is the primary key.
	Index string
	// Ordered: the index serves the order, too.
	Ordered bool
}

// Statements are those that run while a backlog lasts.
func Statements(t *testing.T, db *sql.DB, d sqlbox.Dialect) []Statement {
	t.Helper()
	refs, ids := sample(t, db)
	refsWhere, refsArgs := d.Refs(refs)
	idsWhere, idsArgs := d.IDs(ids)
	var keyed []sqlbox.Record
	var keys []sqlbox.Key
	for i := range 100 {
		key := fmt.Sprint("k", i*10+3)
		keys = append(keys, sqlbox.Key{Handler: "h", Dedupe: key})
		keyed = append(keyed, sqlbox.Record{Entry: jobs.Entry{
			Job: jobs.Job{ID: jobs.DeriveID(jobs.ID{}, key), Handler: "h", Lane: jobs.Fast, DedupeKey: key}, Rev: 1, EnqueuedAt: time.Now(),
		}})
	}
	keysWhere, keysArgs := d.Keys(keys)
	upsert, upsertArgs := d.Insert(keyed, sqlbox.Replace)
	now := d.Now()
	statements := []Statement{
		{"drain page", sqlbox.WaitingQuery, []any{0, "", 0, 500}, "waiting", false},
		{"drain page of a group", sqlbox.WaitingQuery, []any{0, "g7", 0, 50}, "waiting", false},
		{"groups", sqlbox.GroupsQuery, []any{0, "", 0, 100, 100}, "waiting", false},
		{"admit", fmt.Sprintf(sqlbox.AdmitRefs(d), refsWhere), append([]any{"e"}, refsArgs...), "id", false},
		{"finish", fmt.Sprintf(sqlbox.RemoveRefs, refsWhere), refsArgs, "id", false},
		{"look up ids", "SELECT id, rev FROM job_outbox WHERE " + idsWhere, idsArgs, "id", false},
		{"look up keys", "SELECT id FROM job_outbox WHERE " + keysWhere + " AND state IN (0, 1)", keysArgs, "key", false},
		{"upsert", upsert, upsertArgs, "", false},
		{"ripen", d.UpdateSome("state = 0", "state = 1 AND run_at <= "+now, "run_at"), []any{1000}, "scheduled", false},
		{"next due", "SELECT min(run_at) FROM job_outbox WHERE state = 1", nil, "scheduled", false},
		{"prune", d.DeleteSome("state = 3 AND changed_at <= "+now+" - ?", "changed_at"), []any{0, 1000}, "aside", false},
		{"rows of another epoch", "SELECT id, rev FROM job_outbox WHERE state = 2 AND epoch <> ? LIMIT ?", []any{"e", 1000}, "admitted", false},
		{"admitted rows by age", sqlbox.AdmittedQuery(d), []any{0, 0, 500}, "admitted", false},
		{"backlog", sqlbox.BacklogQuery(d), nil, "waiting", false},
	}
	return append(statements, lists(t)...)
}

// lists are the looks of pages in the middle of each part of a list, also of what no
// index knows.
func lists(t *testing.T) []Statement {
	t.Helper()
	var statements []Statement
	for name, query := range map[string]jobs.Query{
		"the first page":        {},
		"a page":                {After: "h1000."},
		"a page of the fast":    {After: "f1000.ZzA"},
		"a page of the slow":    {After: "s1000."},
		"a page of the later":   {After: "l1000.NDAwMDAwMDAwMDAwMDAwNQ"},
		"a page of those aside": {After: "q1000.MTAwMDAwNw"},
		"buffered":              {State: jobs.Buffered},
		"a handler's":           {Handler: "rare", Lane: jobs.Fast, After: "f1000.ZzA"},
		"a group's":             {Group: "g7", After: "f1000."},
	} {
		query.Limit = 100
		looks, err := sqlbox.Looks(query)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, look := range looks {
			statements = append(statements, Statement{fmt.Sprintf("%s, look %d", name, i), look.SQL, look.Args, look.Index, look.Ordered})
		}
	}
	return statements
}

// sample are 500 rows all over the table.
func sample(t *testing.T, db *sql.DB) (refs []jobs.Ref, ids []jobs.ID) {
	t.Helper()
	rows, err := db.Query("SELECT id, rev FROM job_outbox WHERE place % 400 = 4 ORDER BY place LIMIT 500")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var ref jobs.Ref
		if err := rows.Scan(&ref.ID, &ref.Rev); err != nil {
			t.Fatal(err)
		}
		refs, ids = append(refs, ref), append(ids, ref.ID)
	}
	if err := rows.Err(); err != nil || len(refs) < 400 {
		t.Fatalf("%d rows (%v)", len(refs), err)
	}
	return refs, ids
}

// Explain is the plan as the database tells it, a line for each of its rows with
// "column=value" for each of its columns.
func Explain(t *testing.T, db *sql.DB, d sqlbox.Dialect, s Statement) []string {
	t.Helper()
	rows, err := db.Query(d.Bind(d.Explain()+s.SQL), s.Args...)
	if err != nil {
		t.Fatalf("explain %s: %v\n%.500s", s.Name, err, s.SQL)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var line strings.Builder
		for i, column := range columns {
			fmt.Fprintf(&line, "%s=%s; ", column, values[i].String)
		}
		lines = append(lines, line.String())
	}
	if err := rows.Err(); err != nil || len(lines) == 0 {
		t.Fatalf("explain %s: %d lines (%v)", s.Name, len(lines), err)
	}
	return lines
}
