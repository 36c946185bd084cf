package lens

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// ErrTooManyRelated: a single row has more than [MaxRelated] related rows, or they hold
// more than [RelatedBytes].
var ErrTooManyRelated = errors.New("a row has more related rows than a page may hold, or larger ones: give relations a smaller limit, or select less of them")

// mostGiven bounds the values that one statement looks related rows up by: 500
// rows of two columns are 1,000 of the 32,766 that SQLite takes.
const mostGiven = 500

// hydration reads the related rows of one page.
type hydration struct {
	query  *Query
	source *source.Source
	left   int // of MaxRelated
	bytes  int // of RelatedBytes
}

// level reads what the rows of a level select of their relations.
func (h *hydration) level(ctx context.Context, l *level, rows []Row, raws [][]any) error {
	for i := range l.links {
		if err := h.link(ctx, &l.links[i], rows, raws); err != nil {
			return fmt.Errorf("relation %s: %w", l.links[i].name, err)
		}
	}
	for i := range l.joined {
		j := &l.joined[i]
		if err := h.level(ctx, j.level, j.rows, j.raws); err != nil {
			return fmt.Errorf("relation %s: %w", j.name, err)
		}
	}
	return nil
}

// link reads the rows of one relation, each distinct value once.
func (h *hydration) link(ctx context.Context, k *link, rows []Row, raws [][]any) error {
	var values [][]any
	at := map[string]int{}
	holders := map[int][]Row{}
	for i, row := range rows {
		v, err := k.values(h.query.catalogue.Dialect, raws[i])
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		name := identity(v)
		n, known := at[name]
		if !known {
			n = len(values)
			at[name] = n
			values = append(values, v)
		}
		holders[n] = append(holders[n], row)
	}
	chunk := h.chunk(k.nested)
	for from := 0; from < len(values); from += chunk {
		part := values[from:min(from+chunk, len(values))]
		if err := h.related(ctx, k, part, func(n int) []Row { return holders[from+n] }); err != nil {
			return err
		}
	}
	return nil
}

// identity is one text for equal values, and another for others: each says its type and
// how long it is.
func identity(values []any) string {
	var text []byte
	for _, v := range values {
		one := fmt.Sprintf("%v", v)
		if b, isBytes := v.([]byte); isBytes {
			one = string(b)
		}
		text = fmt.Appendf(text, "%T %d %s,", v, len(one), one)
	}
	return string(text)
}

// chunk is how many rows' relations one statement may ask for, within what the
// source lets it return.
func (h *hydration) chunk(n *nested) int {
	if !n.relation.Many {
		return mostGiven
	}
	return max(1, min(mostGiven, h.source.Options().Rows/n.limit))
}

// related reads the rows that values lead to, gives them to their holders, and then
// reads their own relations.
func (h *hydration) related(ctx context.Context, k *link, values [][]any, holders func(n int) []Row) error {
	statement, args, columns, l := h.query.relatedStatement(k, values)
	var rows []Row
	var raws [][]any
	var numbers []int
	block, more, err := h.source.Block(ctx, statement, args, source.Want{Columns: columns, Rows: h.left, Bytes: h.bytes}, nil)
	switch {
	case err != nil:
		return err
	case more:
		return ErrTooManyRelated
	}
	h.left, h.bytes = h.left-block.Len(), h.bytes-block.Size()
	for i := range block.Len() {
		raw, err := block.Row(i, nil)
		if err != nil {
			return err
		}
		n, ok := raw[0].(int64)
		if !ok || n < 0 || int(n) >= len(values) {
			return fmt.Errorf("the driver gave %T for a row's number", raw[0])
		}
		if !k.nested.relation.Many && len(numbers) > 0 && numbers[len(numbers)-1] == int(n) {
			continue // a declared relation to one that leads to several
		}
		row, err := l.row(h.query.catalogue.Dialect, raw[1:])
		if err != nil {
			return err
		}
		rows, raws, numbers = append(rows, row), append(raws, raw[1:]), append(numbers, int(n))
	}
	for i, row := range rows {
		for _, holder := range holders(numbers[i]) {
			if k.nested.relation.Many {
				holder[k.name] = append(holder[k.name].([]Row), row)
			} else {
				holder[k.name] = row
			}
		}
	}
	return h.level(ctx, l, rows, raws)
}

// relatedStatement looks up the rows of a relation for given values: of each at
// most the limit, in their order, numbered by the value that led to them.
func (q *Query) relatedStatement(k *link, values [][]any) (statement string, args []any, columns int, l *level) {
	n := k.nested
	w := newWriter(q.catalogue.Dialect)
	given := w.given(k.columns, values)
	from, where, last := w.hopsFrom(n.relation, n.floors, "given", func(pair int) string { return "given.v" + itoa(pair) })
	var chosen selection
	l = chosen.level(w, n.shape, last, false)
	if n.where != nil {
		where += " AND (" + w.where(n.where, last) + ")"
	}
	order := w.orderBy(n.order, tieBreak(n.relation.To), last)
	if order == "" {
		order = "given.n"
	}
	outer := []string{"n"}
	for i, expr := range chosen.exprs {
		chosen.exprs[i] = expr + " AS c" + itoa(i)
		outer = append(outer, "c"+itoa(i))
	}
	inner := "SELECT " + strings.Join(append([]string{"given.n AS n"}, chosen.exprs...), ", ") +
		", ROW_NUMBER() OVER (PARTITION BY given.n ORDER BY " + order + ") AS place FROM given, " + from + " WHERE " + where
	limit := n.limit
	if !n.relation.Many {
		limit = 1
	}
	statement = "WITH " + given + " SELECT " + strings.Join(outer, ", ") + " FROM (" + inner + ") AS found WHERE place <= " + itoa(limit) +
		" ORDER BY n, place"
	return statement, w.args, len(outer), l
}

// tieBreak decides between related rows that are equal in their order, if the table
// has a key that can.
func tieBreak(t *catalogue.Table) []*catalogue.Column {
	if len(t.Keys) == 0 {
		return nil
	}
	var key []*catalogue.Column
	for _, name := range t.Keys[0] {
		if c, _ := t.Column(name); c.Kind.Sortable() {
			key = append(key, c)
		}
	}
	return key
}
