package ledger

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/postledger/postledger"
)

// plan says how one list is read: branches, each served by one index in id
// order, and the rest of the filter, which is looked at row by row.
type plan struct {
	// from is the table, named p; hint names its index, where that can be said.
	from, p, hint string
	// branches are read newest first and merged; together they hold each row
	// at most once.
	branches []branch
	// low <= id < high holds for all rows.
	low, high postledger.ID
	// rest is what no index of the branches serves; a page then reads at most
	// ListBudget rows.
	rest cond
	// unordered: the branch's index is not in id order, so it is read whole;
	// the planner of the list has made sure that it is short.
	unordered bool
}

// branch is one range of one index.
type branch struct {
	// prefix are the index's columns before the id, with one value each.
	prefix []string
	values []any
	cond
}

// maxBranches bounds the merged index scans of one statement: SQLite joins at
// most 500 selects, and each costs a probe.
const maxBranches = 200

// selectBranch is the statement of one branch.
func (q *plan) selectBranch(t *tx, b branch, columns string, low, high postledger.ID, order string, limit int) cond {
	var where cond
	id := q.p + ".id"
	sorted := id + " " + order
	if t.dialect == postgres && len(b.prefix) > 0 {
		// As a range over the whole index key: with equal signs the planner
		// may prefer a walk over the primary key, and in a union it does not
		// see that the index is in order.
		key := "(" + strings.Join(b.prefix, ", ") + ", " + id + ")"
		marks := "(" + strings.Repeat("?, ", len(b.prefix)) + "?)"
		where.and(key+" >= "+marks, append(slices.Clone(b.values), low[:])...)
		where.and(key+" < "+marks, append(slices.Clone(b.values), high[:])...)
		sorted = strings.Join(b.prefix, " "+order+", ") + " " + order + ", " + sorted
	} else {
		for i, column := range b.prefix {
			where.and(column+" = ?", b.values[i])
		}
		if !low.IsZero() {
			where.and(id+" >= ?", low[:])
		}
		if high != lastID {
			where.and(id+" < ?", high[:])
		}
	}
	where = where.with(b.cond)
	c := cond{sql: "SELECT " + columns + " FROM " + q.from + " " + q.p + q.hint, args: where.args}
	if where.sql != "" {
		c.sql += " WHERE " + where.sql
	}
	if !q.unordered && (t.dialect == postgres || len(q.branches) == 1) {
		c.sql += " ORDER BY " + sorted
	}
	if t.dialect == postgres || len(q.branches) == 1 {
		// The limit also keeps PostgreSQL's planner from ordering an
		// unordered branch by a walk over the primary key.
		c.sql += " LIMIT ?"
		c.args = append(c.args, limit)
	}
	return c
}

// candidates is the newest (or, after a place, the oldest) rows of the
// branches, limited.
func (q *plan) candidates(t *tx, columns string, at place, limit int) cond {
	low, high, order := q.low, q.high, "DESC"
	if at.newer {
		order = "ASC"
		if next := idAfter(at.id); compareIDs(next, low) > 0 {
			low = next
		}
	} else if compareIDs(at.id, high) < 0 {
		high = at.id
	}
	if len(q.branches) == 1 {
		return q.selectBranch(t, q.branches[0], columns, low, high, order, limit)
	}
	var c cond
	parts := make([]string, len(q.branches))
	for i, b := range q.branches {
		one := q.selectBranch(t, b, columns, low, high, order, limit)
		if parts[i] = one.sql; t.dialect == postgres {
			parts[i] = "(" + one.sql + ")"
		}
		c.args = append(c.args, one.args...)
	}
	c.sql = strings.Join(parts, " UNION ALL ") + " ORDER BY id " + order + " LIMIT ?"
	c.args = append(c.args, limit)
	return c
}

// indexedBy makes SQLite use an index or fail: without statistics, or with old
// ones, it may prefer a walk over the primary key. PostgreSQL has no such
// words; its planner sees the limits and the statement has a time limit.
func (t *tx) indexedBy(index string) string {
	if t.dialect == postgres {
		return ""
	}
	return " INDEXED BY " + index
}

// rows is the statement for one page: limit+1 rows past at.
func (q *plan) rows(t *tx, columns string, at place, limit int) cond {
	if q.rest.sql == "" && !q.unordered {
		return q.candidates(t, columns, at, limit+1)
	}
	c := q.kept(q.candidates(t, columns, at, ListBudget), "*")
	order := " DESC"
	if at.newer {
		order = " ASC"
	}
	c.sql += " ORDER BY "
	if t.dialect == postgres && len(q.branches) == 1 && !q.unordered {
		// In the words of the branch's own order: then the candidates need no
		// sorting, and those behind the page's end are never looked at.
		for _, column := range q.branches[0].prefix {
			c.sql += column + order + ", "
		}
	}
	c.sql += q.p + ".id" + order + " LIMIT ?"
	c.args = append(c.args, limit+1)
	return c
}

// kept are the candidates that the rest of the filter keeps.
func (q *plan) kept(candidates cond, columns string) cond {
	c := cond{"SELECT " + columns + " FROM (" + candidates.sql + ") " + q.p, candidates.args}
	if q.rest.sql != "" {
		c.sql += " WHERE " + q.rest.sql
		c.args = append(c.args, q.rest.args...)
	}
	return c
}

// end is the id of a budget's last row, when there are as many.
func (q *plan) end(ctx context.Context, t *tx, at place, budget int) (postledger.ID, bool, error) {
	if q.rest.sql == "" || q.unordered {
		return postledger.ID{}, false, nil
	}
	c := q.candidates(t, q.p+".id", at, budget)
	ids, err := t.ids(ctx, "SELECT id FROM ("+c.sql+") c LIMIT 1 OFFSET ?", append(c.args, budget-1)...)
	if err != nil || len(ids) == 0 {
		return postledger.ID{}, false, err
	}
	return ids[0], true, nil
}

// total counts the list: up to TotalLimit rows that the filter keeps, among
// the newest TotalBudget when it has a rest.
func (q *plan) total(ctx context.Context, t *tx, columns string) (*Total, error) {
	read := TotalLimit + 1
	if q.rest.sql != "" {
		read = TotalBudget
	} else {
		columns = q.p + ".id"
	}
	start := place{id: lastID}
	c := q.kept(q.candidates(t, columns, start, read), "1")
	var n int
	if err := t.row(ctx, []any{&n}, "SELECT count(*) FROM ("+c.sql+" LIMIT ?) n", append(c.args, TotalLimit+1)...); err != nil {
		return nil, err
	}
	out := &Total{N: min(n, TotalLimit), More: n > TotalLimit}
	if out.More {
		return out, nil
	}
	_, more, err := q.end(ctx, t, start, TotalBudget)
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
