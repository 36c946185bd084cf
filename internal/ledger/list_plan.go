package ledger

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/postledger/postledger"
)

// plan says how one list is read: branches, each served by one index in id
// order, and the rest of the filter, which is looked at row by row.
type plan struct {
	// from is the table, named p.
	from, p string
	// branches are read newest first and merged; together they hold each row
	// at most once.
	branches []cond
	// rest is what no index of the branches serves; a page then reads at most
	// ListBudget rows.
	rest cond
	// unordered: the branch's index is not in id order, so it is read whole;
	// the planner of the list has made sure that it is short.
	unordered bool
}

// maxBranches bounds the merged index scans of one statement: SQLite joins at
// most 500 selects, and each costs a probe.
const maxBranches = 200

// candidates is the newest (or, after a place, the oldest) rows of the
// branches, limited.
func (q *plan) candidates(columns string, bound cond, order string, limit int) cond {
	var c cond
	var parts []string
	for _, b := range q.branches {
		b = b.with(bound)
		where := ""
		if b.sql != "" {
			where = " WHERE " + b.sql
		}
		parts = append(parts, "SELECT "+columns+" FROM "+q.from+" "+q.p+where)
		c.args = append(c.args, b.args...)
	}
	c.sql = strings.Join(parts, " UNION ALL ")
	if !q.unordered {
		c.sql += " ORDER BY id " + order
	}
	// The limit keeps PostgreSQL's planner from ordering an unordered branch
	// by a walk over the primary key.
	c.sql += " LIMIT ?"
	c.args = append(c.args, limit)
	return c
}

// rows is the statement for one page: limit+1 rows past at.
func (q *plan) rows(columns string, at place, limit int) cond {
	bound, order := q.bound(at)
	if q.rest.sql == "" && !q.unordered {
		return q.candidates(columns, bound, order, limit+1)
	}
	c := q.candidates(columns, bound, order, ListBudget)
	c.sql = "SELECT * FROM (" + c.sql + ") " + q.p
	if q.rest.sql != "" {
		c.sql += " WHERE " + q.rest.sql
		c.args = append(c.args, q.rest.args...)
	}
	c.sql += " ORDER BY id " + order + " LIMIT ?"
	c.args = append(c.args, limit+1)
	return c
}

func (q *plan) bound(at place) (cond, string) {
	var bound cond
	if at.newer {
		bound.and(q.p+".id > ?", at.id[:])
		return bound, "ASC"
	}
	if at.id != lastID {
		bound.and(q.p+".id < ?", at.id[:])
	}
	return bound, "DESC"
}

// end is the id of the budget's last row, when there are as many.
func (q *plan) end(ctx context.Context, t *tx, at place) (postledger.ID, bool, error) {
	if q.rest.sql == "" || q.unordered {
		return postledger.ID{}, false, nil
	}
	bound, order := q.bound(at)
	c := q.candidates(q.p+".id", bound, order, 1)
	c.sql += " OFFSET ?"
	var id postledger.ID
	err := t.row(ctx, []any{&id}, c.sql, append(c.args, ListBudget-1)...)
	if errors.Is(err, sql.ErrNoRows) {
		return id, false, nil
	}
	return id, err == nil, err
}

// total counts the list: up to TotalLimit rows that the filter keeps, among
// the newest ListBudget when it has a rest.
func (q *plan) total(ctx context.Context, t *tx, columns string) (*Total, error) {
	read := TotalLimit + 1
	if q.rest.sql != "" {
		read = ListBudget
	} else {
		columns = q.p + ".id"
	}
	c := q.candidates(columns, cond{}, "DESC", read)
	c.sql = "SELECT 1 FROM (" + c.sql + ") " + q.p
	if q.rest.sql != "" {
		c.sql += " WHERE " + q.rest.sql
		c.args = append(c.args, q.rest.args...)
	}
	c.sql = "SELECT count(*) FROM (" + c.sql + " LIMIT ?) n"
	var n int
	if err := t.row(ctx, []any{&n}, c.sql, append(c.args, TotalLimit+1)...); err != nil {
		return nil, err
	}
	out := &Total{N: min(n, TotalLimit), More: n > TotalLimit}
	if out.More {
		return out, nil
	}
	_, more, err := q.end(ctx, t, place{id: lastID})
	out.More = more
	return out, err
}

// addressSearch are the conditions on a delivery's folded address. They hold
// literal text only: no database sees a wildcard in it (case B58).
func (t *tx) addressSearch(f *Filter) cond {
	var c cond
	if f.Prefix != "" {
		r := prefixRange(f.Prefix)
		c.and(r.sql, r.args...)
	}
	if f.Domain != "" {
		suffix := "@" + f.Domain
		c.and(t.lastRunes("d.address_folded")+" = ?", utf8.RuneCountInString(suffix), suffix)
	}
	if f.Contains != "" {
		if t.dialect == postgres {
			c.and("strpos(d.address_folded, ?) > 0", f.Contains)
		} else {
			c.and("instr(d.address_folded, ?) > 0", f.Contains)
		}
	}
	return c
}

func (t *tx) lastRunes(column string) string {
	if t.dialect == postgres {
		return "right(" + column + ", CAST(? AS integer))"
	}
	return "substr(" + column + ", -?)"
}

// prefixRange is the range of addresses that begin with p, by byte order:
// nothing valid sorts after U+10FFFF.
func prefixRange(p string) cond {
	return cond{"d.address_folded >= ? AND d.address_folded < ?", []any{p, p + "\U0010ffff"}}
}
