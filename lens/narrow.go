package lens

import (
	"fmt"
	"slices"
)

// Narrow makes a lens that reads no more than base does: sub's rows that are
// also base's, and of base's fields and relations those that sub names. sub may
// speak only of what base selects, in its where and order too: a filter on what
// cannot be seen would tell what it is. Parameters of both stay; two of one name
// are an error, as is another key, zone or table.
//
// A nested relation keeps base's where and gets sub's besides, and of two limits
// the smaller; base's order and where decide which rows a limit keeps, so sub may
// add to them only where base sets no limit. (The limit in force where none is
// set bounds size; it is no permission.)
func Narrow(base, sub Lens) (Lens, error) {
	n := &narrowing{base: base.Params}
	switch {
	case base.Where == nil || sub.Where == nil:
		n.faults.add("where", `missing; every row of the lens is {"everyone": true}`)
	case sub.From != base.From:
		n.faults.add("from", "must be %s, the table of the lens that is narrowed", base.From)
	case len(sub.Key) > 0 && !slices.Equal(sub.Key, base.Key):
		n.faults.add("key", "must be that of the lens that is narrowed")
	case sub.Zone != "" && sub.Zone != base.Zone:
		n.faults.add("zone", "must be that of the lens that is narrowed")
	}
	out := base
	out.Where = All{Conditions: []Condition{base.Where, sub.Where}}
	n.condition(sub.Where, base.Select, "where")
	out.Select = n.items(base.Select, sub.Select, "select")
	if len(sub.Order) > 0 {
		out.Order = sub.Order
		n.order(sub.Order, base.Select, "order")
	}
	out.Params = map[string]Param{}
	for name, p := range base.Params {
		out.Params[name] = p
	}
	for name, p := range sub.Params {
		if _, taken := out.Params[name]; taken {
			n.faults.add(join("params", name), "is a parameter of the lens that is narrowed")
		}
		out.Params[name] = p
	}
	if err := n.faults.err(); err != nil {
		return Lens{}, err
	}
	return out, nil
}

type narrowing struct {
	faults faults
	base   map[string]Param
}

func field(items []Item, name string) bool {
	return slices.ContainsFunc(items, func(i Item) bool { return i.Relation == nil && i.Field == name })
}

func relation(items []Item, name string) *Nested {
	for _, i := range items {
		if i.Relation != nil && i.Relation.Name == name {
			return i.Relation
		}
	}
	return nil
}

func (n *narrowing) items(base, sub []Item, path string) []Item {
	if len(sub) == 0 {
		n.faults.add(path, "names no field")
	}
	items := make([]Item, 0, len(sub))
	for i, item := range sub {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item.Relation == nil {
			if !field(base, item.Field) {
				n.faults.add(at, "the lens that is narrowed does not select %q", item.Field)
			}
			items = append(items, item)
			continue
		}
		within := relation(base, item.Relation.Name)
		at = join(at, item.Relation.Name)
		if within == nil {
			n.faults.add(at, "the lens that is narrowed does not select %q", item.Relation.Name)
			continue
		}
		items = append(items, Item{Relation: n.nested(within, item.Relation, at)})
	}
	return items
}

func (n *narrowing) nested(base, sub *Nested, path string) *Nested {
	out := *base
	if sub.Where != nil {
		n.condition(sub.Where, base.Select, join(path, "where"))
		// Base's limit keeps the first rows that its own where admits; a further
		// condition would let others take their place.
		if base.Limit > 0 {
			n.faults.add(join(path, "where"), "the lens that is narrowed limits these rows, so they cannot be filtered further")
		}
		out.Where = sub.Where
		if base.Where != nil {
			out.Where = All{Conditions: []Condition{base.Where, sub.Where}}
		}
	}
	if len(sub.Order) > 0 {
		if base.Limit > 0 && !slices.Equal(base.Order, sub.Order) {
			n.faults.add(join(path, "order"), "the lens that is narrowed limits these rows, so their order cannot change")
		}
		n.order(sub.Order, base.Select, join(path, "order"))
		out.Order = sub.Order
	}
	if sub.Limit > 0 && (base.Limit == 0 || sub.Limit < base.Limit) {
		out.Limit = sub.Limit
	}
	out.Select = n.items(base.Select, sub.Select, join(path, "select"))
	return &out
}

func (n *narrowing) order(order []Order, items []Item, path string) {
	for i, o := range order {
		if !field(items, o.Field) {
			n.faults.add(fmt.Sprintf("%s[%d]", path, i), "the lens that is narrowed does not select %q", o.Field)
		}
	}
}

// condition checks that a condition speaks only of what is selected. Related
// rows must be selected without a where or a limit of their own: the condition
// would look at the ones that are left out.
func (n *narrowing) condition(c Condition, items []Item, path string) {
	switch c := c.(type) {
	case All:
		for i, inner := range c.Conditions {
			n.condition(inner, items, fmt.Sprintf("%s.all[%d]", path, i))
		}
	case Any:
		for i, inner := range c.Conditions {
			n.condition(inner, items, fmt.Sprintf("%s.any[%d]", path, i))
		}
	case Not:
		n.condition(c.Condition, items, path+".not")
	case Compare:
		if !field(items, c.Field) {
			n.faults.add(join(path, c.Field), "the lens that is narrowed does not select it")
		}
		for _, v := range append(slices.Clone(c.Operand.List), c.Operand.One) {
			if _, theirs := n.base[v.Param]; theirs {
				n.faults.add(join(path, c.Field), "parameter %q is of the lens that is narrowed: what it is compared with would tell its value", v.Param)
			}
		}
	case Related:
		within := relation(items, c.Relation)
		switch at := join(path, c.Relation); {
		case within == nil:
			n.faults.add(at, "the lens that is narrowed does not select it")
		case within.Where != nil || within.Limit > 0:
			n.faults.add(at, "the lens that is narrowed shows only some of these rows")
		default:
			n.condition(c.Where, within.Select, at)
		}
	}
}
