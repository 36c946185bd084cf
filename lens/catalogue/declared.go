package catalogue

import (
	"maps"
	"slices"
)

// addDeclared applies what the model says of relations: it hides and renames
// what foreign keys gave, and adds what they did not.
func (b *builder) addDeclared() {
	for _, sqlName := range slices.Sorted(maps.Keys(b.model.Tables)) {
		t := b.bySQLName[sqlName]
		if t == nil {
			continue // hidden, or already a fault
		}
		relations := b.model.Tables[sqlName].Relations
		// First what goes or moves, so that a declared relation may take its name.
		for _, name := range slices.Sorted(maps.Keys(relations)) {
			if said := relations[name]; said.Hide || said.Rename != "" {
				b.change(t, name, said, "tables."+sqlName+".relations."+name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(relations)) {
			if said := relations[name]; !said.Hide && said.Rename == "" {
				b.declare(t, name, said, "tables."+sqlName+".relations."+name)
			}
		}
	}
}

func (b *builder) change(t *Table, name string, said ModelRelation, path string) {
	r, found := t.relations[name]
	switch {
	case !found:
		b.fault(path, "the table has no such relation")
	case said.To != "" || said.On != nil || said.Through != nil || said.Hide && said.Rename != "":
		b.fault(path, "a relation is hidden, renamed or declared, one of these")
	case said.Hide:
		delete(t.relations, name)
	case !b.free(t, said.Rename, path+".rename"):
	default:
		delete(t.relations, name)
		r.Name = said.Rename
		t.relations[r.Name] = r
	}
}

func (b *builder) free(t *Table, name, path string) bool {
	switch {
	case !Name(name):
		b.fault(path, "%q is not a name: letters, digits and _ only, no digit first", name)
	case t.byName[name] != nil:
		b.fault(path, "a column is called %s", name)
	case t.relations[name] != nil:
		b.fault(path, "another relation is called %s", name)
	default:
		return true
	}
	return false
}

func (b *builder) declare(t *Table, name string, said ModelRelation, path string) {
	if !b.free(t, name, path) {
		return
	}
	to := b.bySQLName[said.To]
	if to == nil {
		b.fault(path+".to", "the catalogue has no table %q", said.To)
		return
	}
	r := &Relation{Name: name, From: t, To: to, Many: said.Many, Declared: true}
	before := len(b.faults)
	if said.Through == nil {
		r.Hops = []Hop{b.hop(t, to, said.On, path+".on")}
	} else {
		middle := b.bySQLName[said.Through.Table]
		switch {
		case middle == nil:
			b.fault(path+".through.table", "the catalogue has no table %q", said.Through.Table)
			return
		case said.On != nil:
			b.fault(path+".on", "a relation through a table has its pairs in through")
			return
		}
		r.Many = true
		r.Hops = []Hop{
			b.hop(t, middle, said.Through.On, path+".through.on"),
			b.hop(middle, to, said.Through.To, path+".through.to"),
		}
	}
	first, last := &r.Hops[0], &r.Hops[len(r.Hops)-1]
	first.Fixed = append(first.Fixed, b.fixed(t, said.Where, true, path+".where")...)
	last.Fixed = append(last.Fixed, b.fixed(to, said.WhereTo, false, path+".where_to")...)
	if len(b.faults) == before {
		t.relations[name] = r
	}
}

func (b *builder) hop(from, to *Table, on map[string]string, path string) Hop {
	hop := Hop{Table: to}
	if len(on) == 0 {
		b.fault(path, "it must pair columns of %s with columns of %s", from.Name, to.Name)
	}
	for _, left := range slices.Sorted(maps.Keys(on)) {
		l, r := from.bySQLName[left], to.bySQLName[on[left]]
		switch {
		case l == nil:
			b.fault(path+"."+left, "table %s has no such column", from.Name)
		case r == nil:
			b.fault(path+"."+left, "table %s has no column %q", to.Name, on[left])
		case !joins(l.Kind, r.Kind):
			b.fault(path+"."+left, "%s cannot be equal to %s", l.Kind, r.Kind)
		default:
			hop.Pairs = append(hop.Pairs, Pair{Left: l, Right: r})
		}
	}
	return hop
}

// joins tells whether two kinds can be compared without a cast: PostgreSQL
// refuses others, and MySQL compares text with numbers as 0.
func joins(a, b Kind) bool {
	whole := func(k Kind) bool { return k == Int || k == BigInt }
	return a != Unsupported && (a == b || whole(a) && whole(b))
}

func (b *builder) fixed(t *Table, values map[string]string, left bool, path string) []Fixed {
	var fixed []Fixed
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch c := t.bySQLName[name]; {
		case c == nil:
			b.fault(path+"."+name, "table %s has no such column", t.Name)
		case c.Kind != Text && c.Kind != Enum:
			b.fault(path+"."+name, "the column holds %s, not text", c.Kind)
		default:
			fixed = append(fixed, Fixed{Left: left, Column: c, Value: values[name]})
		}
	}
	return fixed
}
