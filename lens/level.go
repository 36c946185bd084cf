package lens

import (
	"slices"

	"github.com/postledger/postledger/lens/catalogue"
)

// level is one table of a fetch: where in a result's columns the fields of its
// select stand, and what its relations are followed by.
type level struct {
	shape  shape
	fields []int
	links  []link
	joined []joinedLevel
}

// link is a relation of a level.
type link struct {
	name   string
	nested *nested
	// columns are the first hop's left columns, raw the places of their values;
	// fixed are the places of what that hop fixes on the left.
	columns []*catalogue.Column
	raw     []int
	fixed   []fixedAt
}

type fixedAt struct {
	catalogue.Fixed
	at int
}

// selection gathers the columns of a result, and the tables that are joined for them.
type selection struct {
	exprs []string
	joins string
}

// add finds the place of an expression. What is asked for twice, such as a key that is
// selected too, is read once.
func (s *selection) add(expr string) int {
	if at := slices.Index(s.exprs, expr); at >= 0 {
		return at
	}
	s.exprs = append(s.exprs, expr)
	return len(s.exprs) - 1
}

// level chooses what a shape needs of the rows of alias. With join, relations to one
// row become part of the statement where they can.
func (s *selection) level(w *writer, from shape, alias string, join bool) *level {
	l := &level{shape: from, fields: make([]int, len(from))}
	for i, item := range from {
		if item.column != nil {
			l.fields[i] = s.add(w.dialect.read(item.column, w.ref(alias, item.column)))
			continue
		}
		if join && joins(item.nested) {
			l.joined = append(l.joined, s.join(w, item.nested, alias))
			continue
		}
		hop := item.nested.relation.Hops[0]
		k := link{name: item.nested.relation.Name, nested: item.nested}
		for _, pair := range hop.Pairs {
			k.columns = append(k.columns, pair.Left)
			k.raw = append(k.raw, s.add(w.dialect.raw(pair.Left, w.ref(alias, pair.Left))))
		}
		for _, fixed := range hop.Fixed {
			if fixed.Left {
				k.fixed = append(k.fixed, fixedAt{fixed, s.add(w.dialect.read(fixed.Column, w.ref(alias, fixed.Column)))})
			}
		}
		l.links = append(l.links, k)
	}
	return l
}

// follows tells whether a row's values are needed after it was made.
func (l *level) follows() bool {
	return len(l.links) > 0 || slices.ContainsFunc(l.joined, func(j joinedLevel) bool { return j.level.follows() })
}

// row makes the row of a result, its relations empty.
func (l *level) row(d catalogue.Dialect, raw []any) (Row, error) {
	row := make(Row, len(l.shape))
	for i, item := range l.shape {
		if item.column == nil {
			if item.nested.relation.Many {
				row[item.nested.relation.Name] = []Row{}
			} else {
				row[item.nested.relation.Name] = nil
			}
			continue
		}
		value, err := decode(d, item.column, raw[l.fields[i]])
		if err != nil {
			return nil, err
		}
		row[item.column.Name] = value
	}
	for i := range l.joined {
		inner, err := l.joined[i].row(d, raw)
		if err != nil {
			return nil, err
		}
		if inner != nil {
			row[l.joined[i].name] = inner
		}
	}
	return row, nil
}

// values are what a row's relation is followed by; nil when nothing can be related:
// a part is null, or what the relation fixes is another.
func (k *link) values(d catalogue.Dialect, raw []any) ([]any, error) {
	for _, f := range k.fixed {
		held, err := decode(d, f.Column, raw[f.at])
		if err != nil {
			return nil, err
		}
		if text, ok := held.(string); !ok || text != f.Value {
			return nil, nil
		}
	}
	values := make([]any, len(k.raw))
	for i, at := range k.raw {
		if values[i] = rawValue(d, raw[at]); values[i] == nil {
			return nil, nil
		}
	}
	return values, nil
}

// rawValue is what the driver gave for dialect.raw: MySQL's gives text as bytes.
func rawValue(d catalogue.Dialect, v any) any {
	if b, isBytes := v.([]byte); isBytes && d == catalogue.MySQL {
		return string(b)
	}
	return v
}
