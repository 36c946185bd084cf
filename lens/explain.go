package lens

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// BigTable is how many rows a table has whose reading from end to end is worth a
// warning.
const BigTable = 10_000

// Explanation says what a query would do.
type Explanation struct {
	// SQL is the statement of a page. Values show their type and size only.
	SQL   string
	Binds []string
	// Rows is the database's estimate of how many rows match, or -1 when it has
	// none (SQLite).
	Rows int64
	// Warnings are of the big tables that are read from end to end.
	Warnings []Warning
}

// Warning says what is dear about a query.
type Warning struct {
	// Table is the table that it is about. A scope's condition may be what reads it: see
	// [Lens.Tables].
	Table, Text string
}

// Explain asks the database how it would read the rows, and reads none.
func (q *Query) Explain(ctx context.Context, s *source.Source) (Explanation, error) {
	if err := q.suits(s); err != nil {
		return Explanation{}, err
	}
	page, err := q.pageStatement(q.order, "", DefaultPage)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{SQL: page.sql, Rows: -1}
	for _, v := range page.args {
		e.Binds = append(e.Binds, masked(v))
	}
	w := newWriter(q.catalogue.Dialect)
	alias := w.alias()
	where := w.where(q.where, alias)
	matching := "SELECT 1 FROM " + w.table(q.table, alias) + " WHERE " + where
	plan := &planReader{tables: w.tables, rows: -1}
	switch q.catalogue.Dialect {
	case catalogue.SQLite:
		err = plan.sqlite(ctx, s, matching, w.args)
	case catalogue.PostgreSQL:
		err = plan.tree(ctx, s, "EXPLAIN (FORMAT JSON) "+matching, w.args, plan.postgres)
	case catalogue.MySQL:
		err = plan.tree(ctx, s, "EXPLAIN FORMAT=JSON "+matching, w.args, plan.mysql)
	}
	if err != nil {
		return Explanation{}, fmt.Errorf("explain %s: %w", q.table.Name, err)
	}
	e.Rows = plan.rows
	for _, t := range plan.scanned {
		switch {
		case t.Rows >= BigTable:
			e.Warnings = append(e.Warnings, Warning{t.Name, fmt.Sprintf("reads all of %s (about %d rows): no index serves the condition", t.Name, t.Rows)})
		case t.Rows < 0:
			e.Warnings = append(e.Warnings, Warning{t.Name, fmt.Sprintf("reads all of %s, whose size is not known: no index serves the condition", t.Name)})
		}
	}
	return e, nil
}

// masked tells a value's type and size.
func masked(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("text of %d bytes", len(v))
	case []byte:
		return fmt.Sprintf("%d bytes", len(v))
	case int64, uint64, float64:
		return "number"
	}
	return fmt.Sprintf("%T", v)
}

// planReader reads the three ways in which databases tell their plans.
type planReader struct {
	tables  map[string]*catalogue.Table
	rows    int64
	scanned []*catalogue.Table
}

func (p *planReader) scan(alias string) {
	if t := p.tables[alias]; t != nil && !slices.Contains(p.scanned, t) {
		p.scanned = append(p.scanned, t)
	}
}

func (p *planReader) sqlite(ctx context.Context, s *source.Source, statement string, args []any) error {
	return s.Read(ctx, "EXPLAIN QUERY PLAN "+statement, args, func(scan func(...any) error) error {
		var id, parent, unused int64
		var detail string
		if err := scan(&id, &parent, &unused, &detail); err != nil {
			return err
		}
		if alias, found := strings.CutPrefix(detail, "SCAN "); found {
			alias, _, _ = strings.Cut(alias, " ")
			p.scan(alias)
		}
		return nil
	})
}

// tree reads a plan in JSON, and visits every object in it.
func (p *planReader) tree(ctx context.Context, s *source.Source, statement string, args []any, visit func(map[string]any)) error {
	var text string
	err := s.Read(ctx, statement, args, func(scan func(...any) error) error { return scan(&text) })
	if err != nil {
		return err
	}
	var plan any
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	walk(plan, visit)
	return nil
}

func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			walk(inner, visit)
		}
	case map[string]any:
		visit(v)
		for _, inner := range v {
			walk(inner, visit)
		}
	}
}

// postgres sees the top node first.
func (p *planReader) postgres(node map[string]any) {
	if rows, found := node["Plan Rows"].(float64); found && p.rows < 0 {
		p.rows = int64(rows)
	}
	if node["Node Type"] == "Seq Scan" {
		alias, _ := node["Alias"].(string)
		p.scan(alias)
	}
}

// mysql reads what MySQL and MariaDB call differently: the estimate is that of the
// first table, times the part of it that is kept.
func (p *planReader) mysql(node map[string]any) {
	alias, isTable := node["table_name"].(string)
	if !isTable {
		return
	}
	if node["access_type"] == "ALL" {
		p.scan(alias)
	}
	if alias != "t0" {
		return
	}
	if rows, found := node["rows_produced_per_join"].(float64); found {
		p.rows = int64(rows)
		return
	}
	rows, found := node["rows"].(float64)
	part, filtered := node["filtered"].(float64)
	if !found {
		return
	}
	if p.rows = int64(rows); filtered {
		p.rows = int64(rows * part / 100)
	}
}
