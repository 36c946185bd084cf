package lens

import (
	"slices"

	"github.com/postledger/postledger/lens/catalogue"
)

// Needs is a select of what [Query.Matches] asks of a row: every field and
// relation of the where and of the scope's floors, each once. Where it asks only whether
// there is a row, its key stands for it, or the first field that can be read.
func (q *Query) Needs() []Item { return filled(needsOf(q.where, nil), q.table) }

// filled gives each select a field: one without any is refused.
func filled(items []Item, t *catalogue.Table) []Item {
	for _, item := range items {
		if item.Relation != nil {
			r, _ := t.Relation(item.Relation.Name)
			item.Relation.Select = filled(item.Relation.Select, r.To)
		}
	}
	if len(items) > 0 {
		return items
	}
	var candidates []*catalogue.Column
	for _, key := range t.Keys {
		c, _ := t.Column(key[0])
		candidates = append(candidates, c)
	}
	for _, c := range append(candidates, t.Columns()...) {
		if !c.Hidden && c.Kind != catalogue.Unsupported {
			return []Item{{Field: c.Name}}
		}
	}
	return nil
}

func needsOf(c bound, items []Item) []Item {
	switch c := c.(type) {
	case boundAll:
		for _, inner := range c {
			items = needsOf(inner, items)
		}
	case boundAny:
		for _, inner := range c {
			items = needsOf(inner, items)
		}
	case boundNot:
		return needsOf(c.inner, items)
	case boundCompare:
		if !slices.ContainsFunc(items, func(i Item) bool { return i.Field == c.column.Name }) {
			items = append(items, Item{Field: c.column.Name})
		}
	case boundRelated:
		name := c.relation.Name
		at := slices.IndexFunc(items, func(i Item) bool { return i.Relation != nil && i.Relation.Name == name })
		if at < 0 {
			at = len(items)
			items = append(items, Item{Relation: &Nested{Name: name}})
		}
		inner := needsOf(c.where, items[at].Relation.Select)
		if floor := c.floors[len(c.floors)-1]; floor != nil {
			inner = needsOf(floor, inner)
		}
		items[at].Relation.Select = inner
	}
	return items
}
