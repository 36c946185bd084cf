package ledger

import (
	"context"
	"strings"
	"time"
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
	// low <= id < high holds for all rows, and span for those of branches with a prefix.
	low, high postledger.ID
	span      span
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

// span bounds created_at.
type span struct {
	column       string
	since, until time.Time
}

// near is the bound that a walk begins at, far the one that it ends at.
func (s span) near(order string) cond {
	if order == newestFirst {
		return timed(s.column, time.Time{}, s.until)
	}
	return timed(s.column, s.since, time.Time{})
}

func (s span) far(order string) cond {
	if order == newestFirst {
		return timed(s.column, s.since, time.Time{})
	}
	return timed(s.column, time.Time{}, s.until)
}

const newestFirst, oldestFirst = "DESC", "ASC"

// maxBranches bounds the merged index scans of one statement: SQLite joins at
// most 500 selects, and each costs a probe.
const maxBranches = 200

// selectBranch is the statement of one branch.
func (q *plan) selectBranch(t *tx, b branch, columns string, low, high postledger.ID, order string, limit int) cond {
	var where cond
	id := q.p + ".id"
	sorted := id + " " + order
	switch {
	case q.open(t):
		// As a range over the index's last columns: with equal signs alone the planner
		// may prefer a walk over the primary key, and in a union it does not see that
		// the index is in order. The walk ends with the prefix and the limit: of a row
		// comparison PostgreSQL knows the end by its first column only, and would go on
		// to it behind the last id, through all that the app has.
		last := len(b.prefix) - 1
		for i, column := range b.prefix[:last] {
			where.and(column+" = ?", b.values[i])
		}
		begin, end, bound := "<", ">=", high
		if order == oldestFirst {
			begin, end, bound = ">=", "<=", low
		}
		where.and("("+b.prefix[last]+", "+id+") "+begin+" (?, ?)", b.values[last], bound[:])
		where.and(b.prefix[last]+" "+end+" ?", b.values[last])
		where = where.with(q.span.near(order))
		sorted = b.prefix[last] + " " + order + ", " + sorted
	default:
		for i, column := range b.prefix {
			where.and(column+" = ?", b.values[i])
		}
		if !low.IsZero() {
			where.and(id+" >= ?", low[:])
		}
		if high != lastID {
			where.and(id+" < ?", high[:])
		}
		if len(b.prefix) > 0 {
			where = where.with(timed(q.span.column, q.span.since, q.span.until))
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

// open says that the branches have no end at the plan's far bound: what lies behind it
// is left out of what was read.
func (q *plan) open(t *tx) bool {
	return t.dialect == postgres && len(q.branches) > 0 && len(q.branches[0].prefix) > 0
}

// order is the one in which a walk from a place goes.
func (at place) order() string {
	if at.newer {
		return oldestFirst
	}
	return newestFirst
}

// past says that an id lies behind the plan's far bound.
func (q *plan) past(id postledger.ID, order string) bool {
	if order == newestFirst {
		return compareIDs(id, q.low) < 0
	}
	return compareIDs(id, q.high) >= 0
}

// outside is what of the filter the candidates' branches do not say themselves.
func (q *plan) outside(t *tx, order string) cond {
	c := q.rest
	if !q.open(t) {
		return c
	}
	var far cond
	switch {
	case order == newestFirst && !q.low.IsZero():
		far.and(q.p+".id >= ?", q.low[:])
	case order == oldestFirst && q.high != lastID:
		far.and(q.p+".id < ?", q.high[:])
	}
	return c.with(far.with(q.span.far(order)))
}

// read is how many candidates a page of so many rows looks at.
func (q *plan) read(limit int) int {
	if q.rest.sql != "" || q.unordered {
		return ListBudget
	}
	return limit + 1
}

// candidates is the newest (or, after a place, the oldest) rows of the
// branches, limited.
func (q *plan) candidates(t *tx, columns string, at place, limit int) cond {
	low, high, order := q.low, q.high, at.order()
	if at.newer {
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
	outside := q.outside(t, at.order())
	if outside.sql == "" && !q.unordered {
		return q.candidates(t, columns, at, limit+1)
	}
	c := q.kept(q.candidates(t, columns, at, q.read(limit)), "*", outside)
	c.sql += " ORDER BY "
	if len(q.branches) == 1 && q.open(t) {
		// In the words of the branch's own order: then the candidates need no
		// sorting, and those behind the page's end are never looked at.
		prefix := q.branches[0].prefix
		c.sql += prefix[len(prefix)-1] + " " + at.order() + ", "
	}
	c.sql += q.p + ".id " + at.order() + " LIMIT ?"
	c.args = append(c.args, limit+1)
	return c
}

// kept are the candidates that the rest of the filter keeps.
func (q *plan) kept(candidates cond, columns string, rest cond) cond {
	c := cond{"SELECT " + columns + " FROM (" + candidates.sql + ") " + q.p, candidates.args}
	if rest.sql != "" {
		c.sql += " WHERE " + rest.sql
		c.args = append(c.args, rest.args...)
	}
	return c
}

// end is the id of the last of so many candidates, when there are as many and the list
// may go on behind it.
func (q *plan) end(ctx context.Context, t *tx, at place, read int) (postledger.ID, bool, error) {
	if q.unordered || q.outside(t, at.order()).sql == "" {
		return postledger.ID{}, false, nil
	}
	c := q.candidates(t, q.p+".id", at, read)
	ids, err := t.ids(ctx, "SELECT id FROM ("+c.sql+") c LIMIT 1 OFFSET ?", append(c.args, read-1)...)
	if err != nil || len(ids) == 0 || q.past(ids[0], at.order()) {
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
	}
	start := place{id: lastID}
	outside := q.outside(t, start.order())
	if outside.sql == "" {
		columns = q.p + ".id"
	}
	c := q.kept(q.candidates(t, columns, start, read), "1", outside)
	var n int
	if err := t.row(ctx, []any{&n}, "SELECT count(*) FROM ("+c.sql+" LIMIT ?) n", append(c.args, TotalLimit+1)...); err != nil {
		return nil, err
	}
	out := &Total{N: min(n, TotalLimit), More: n > TotalLimit}
	if out.More {
		return out, nil
	}
	_, more, err := q.end(ctx, t, start, read)
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
