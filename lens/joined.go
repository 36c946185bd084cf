package lens

import (
	"reflect"
	"slices"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// joinedLevel is a relation to one row that a page's own statement reads: a foreign key
// to a unique key joins at most one row to each, so nothing is multiplied, and a page
// costs one statement less.
type joinedLevel struct {
	name  string
	level *level
	// alone: the relation has one pair of columns, so one value tells its rows apart.
	alone bool
	// at is the place of the value that was joined by, null where no row is.
	at int
	// found are the first rows that were made, by the value they were joined by: rows
	// that few share are made once a page.
	found map[any]Row
	// rows are those whose own relations are read next, with their raw values.
	rows []Row
	raws [][]any
}

// mostShared bounds found: where more rows than these take part in a page, hardly any
// is met twice.
const mostShared = 1_024

// joins tells whether a relation can be joined. Columns that may be large are read once
// for all rows that share them, and not with each.
func joins(n *nested) bool {
	r := n.relation
	if r.Many || r.Declared || len(r.Hops) != 1 || len(r.Hops[0].Fixed) > 0 {
		return false
	}
	var right []string
	for _, pair := range r.Hops[0].Pairs {
		right = append(right, pair.Right.Name)
	}
	for _, item := range n.shape {
		if c := item.column; c != nil && (c.Kind == catalogue.Bytes || c.Kind == catalogue.JSON || c.Kind == catalogue.Array) {
			return false
		}
	}
	return r.To.Unique(right)
}

// join writes a relation to one row into the statement that reads the rows of alias.
// What it binds stands before the WHERE.
func (s *selection) join(w *writer, n *nested, alias string) joinedLevel {
	from, on, last := w.hops(n.relation, n.floors, alias)
	if n.where != nil {
		on += " AND (" + w.where(n.where, last) + ")"
	}
	s.joins += " LEFT JOIN " + from + " ON " + on
	pairs := n.relation.Hops[0].Pairs
	right := pairs[0].Right
	j := joinedLevel{name: n.relation.Name, alone: len(pairs) == 1, at: s.add(w.dialect.raw(right, w.ref(last, right))), found: map[any]Row{}}
	j.level = s.level(w, n.shape, last, true)
	return j
}

// pageFirst writes the rows of a page as a table of its own, which others are then
// joined to: PostgreSQL would else join all rows before it sorts them. By the key alone
// nothing is sorted, and looking each row up as it comes (it remembers those that many
// share) costs half of joining and sorting a page.
func (w *writer) pageFirst(q *Query, order []ordering, alias, end string) string {
	var columns []string
	add := func(c *catalogue.Column) {
		if ref := w.ref(alias, c); !slices.Contains(columns, ref) {
			columns = append(columns, ref)
		}
	}
	for _, o := range order {
		add(o.column)
	}
	for _, c := range q.key {
		add(c)
	}
	for _, item := range q.shape {
		if item.column != nil {
			add(item.column)
			continue
		}
		hop := item.nested.relation.Hops[0]
		for _, pair := range hop.Pairs {
			add(pair.Left)
		}
		for _, fixed := range hop.Fixed {
			if fixed.Left {
				add(fixed.Column)
			}
		}
	}
	return "(SELECT " + strings.Join(columns, ", ") + " FROM " + w.table(q.table, alias) + end + ") AS " + alias
}

// row is the joined row of a result, or nil.
func (j *joinedLevel) row(d catalogue.Dialect, raw []any) (Row, error) {
	key := rawValue(d, raw[j.at])
	if key == nil {
		return nil, nil
	}
	shared := j.alone && reflect.TypeOf(key).Comparable()
	if shared {
		if row, known := j.found[key]; known {
			return row, nil
		}
	}
	row, err := j.level.row(d, raw)
	if err != nil {
		return nil, err
	}
	if shared && len(j.found) < mostShared {
		j.found[key] = row
	}
	if j.level.follows() {
		j.rows, j.raws = append(j.rows, row), append(j.raws, raw)
	}
	return row, nil
}
