package lens

import "slices"

// Needs is a select of what [Query.Matches] asks of a row: every field and
// relation of the where and of the scope's floors, each once.
func (q *Query) Needs() []Item { return needsOf(q.where, nil) }

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
