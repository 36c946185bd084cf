package lens

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

// Check holds a lens against a catalogue: every name, every type, every rule of
// failing closed that needs no parameter's value. All faults come in one error,
// each a [*Fault].
func (l Lens) Check(c *catalogue.Catalogue, scope Scope) (*Plan, error) {
	// Any moment will do to see whether relative times are well formed.
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := newBinder(c, l.Params, l.Zone, "", now)
	b.floor = newBinder(c, scope.Params, scope.Zone, "scope", now)
	b.checking, b.floor.checking = true, true
	b.query(l, scope)
	for _, name := range slices.Sorted(maps.Keys(l.Params)) {
		if !b.used[name] {
			b.faults.add(join("params", name), "is declared and never used")
		}
	}
	b.floorsOfAll(scope)
	if err := errors.Join(b.faults.err(), b.floor.faults.err()); err != nil {
		return nil, err
	}
	return &Plan{lens: l, scope: scope, catalogue: c}, nil
}

// Bind gives a plan its parameters. A value that is missing, of another type, or
// that nobody asked for is an error, and so is one that would turn a condition
// into one that can only be true.
func (p *Plan) Bind(with Bindings) (*Query, error) {
	if with.Now.IsZero() {
		return nil, &Fault{Problem: "bind a lens: now is not set"}
	}
	b := newBinder(p.catalogue, p.lens.Params, p.lens.Zone, "", with.Now)
	b.floor = newBinder(p.catalogue, p.scope.Params, p.scope.Zone, "scope", with.Now)
	b.given, b.floor.given = with.Params, with.ScopeParams
	b.knowsGiven()
	b.floor.knowsGiven()
	q := b.query(p.lens, p.scope)
	if err := errors.Join(b.faults.err(), b.floor.faults.err()); err != nil {
		return nil, err
	}
	return q, nil
}

// binder turns a lens into a query, or into faults.
type binder struct {
	catalogue *catalogue.Catalogue
	params    map[string]Param
	zone      *time.Location
	now       time.Time
	// checking means that parameters have no values yet.
	checking bool
	given    map[string]any
	used     map[string]bool
	// wrong parameters have a default that is none.
	wrong  map[string]bool
	faults faults

	conditions, values int

	// floor binds the scope's conditions; nil in the binder that does.
	floor  *binder
	floors map[*catalogue.Table]bound
}

func newBinder(c *catalogue.Catalogue, params map[string]Param, zone, path string, now time.Time) *binder {
	b := &binder{catalogue: c, params: params, now: now, used: map[string]bool{}, wrong: map[string]bool{}, floors: map[*catalogue.Table]bound{}}
	switch zone {
	case "":
	case "Local":
		b.faults.add(join(path, "zone"), "must be a zone's name such as Europe/Oslo or UTC")
	default:
		location, err := time.LoadLocation(zone)
		if err != nil {
			b.faults.add(join(path, "zone"), "%q is no time zone that is known here", zone)
		}
		b.zone = location
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		b.checkParam(name, params[name], join(join(path, "params"), name))
	}
	return b
}

func (b *binder) query(l Lens, scope Scope) *Query {
	t, ok := b.catalogue.Table(l.From)
	if !ok {
		b.faults.add("from", "the catalogue has no table %q", l.From)
		return nil
	}
	q := &Query{catalogue: b.catalogue, table: t}
	q.where = b.whole(l.Where, t, "where", place{scope: scope})
	if floor := b.floorOf(t, scope); floor != nil {
		q.where = boundAll{floor, q.where}
	}
	if len(l.Select) == 0 {
		b.faults.add("select", "names no field")
	}
	q.shape = b.shape(l.Select, t, "select", scope, 0)
	q.order = b.orderings(l.Order, t, "order")
	q.key = b.key(l.Key, t)
	return q
}

// floorOf is the scope's condition on a table, or nil.
func (b *binder) floorOf(t *catalogue.Table, scope Scope) bound {
	condition, found := scope.Where[t.Name]
	if !found || b.floor == nil {
		return nil
	}
	if known, done := b.floors[t]; done {
		return known
	}
	// An empty Any is a floor that lets nothing through, and is meant.
	floor := b.floor.whole(condition, t, join("scope", t.Name), place{})
	b.floors[t] = floor
	return floor
}

func (b *binder) floorsOf(r *catalogue.Relation, scope Scope) []bound {
	floors := make([]bound, len(r.Hops))
	for i, hop := range r.Hops {
		floors[i] = b.floorOf(hop.Table, scope)
	}
	return floors
}

// column finds a field that may be read.
func (b *binder) column(t *catalogue.Table, name, path string) *catalogue.Column {
	c, found := t.Column(name)
	_, relation := t.Relation(name)
	switch {
	case !found && relation:
		b.faults.add(path, "is a relation, not a field")
	case !found:
		b.faults.add(path, "table %s has no field %q", t.Name, name)
	case c.Hidden:
		b.faults.add(path, "the field is hidden: %s", c.Why)
	case c.Kind == catalogue.Unsupported:
		b.faults.add(path, "fields of type %s cannot be read", c.Type)
	default:
		return c
	}
	return nil
}

func (b *binder) orderings(order []Order, t *catalogue.Table, path string) []ordering {
	var bound []ordering
	for i, o := range order {
		at := fmt.Sprintf("%s[%d]", path, i)
		c := b.column(t, o.Field, at)
		switch {
		case c == nil:
		case !c.Kind.Sortable():
			b.faults.add(at, "rows cannot be sorted by %s", c.Kind)
		case slices.ContainsFunc(bound, func(other ordering) bool { return other.column == c }):
			b.faults.add(at, "given twice")
		default:
			bound = append(bound, ordering{column: c, desc: o.Desc})
		}
	}
	return bound
}

// key finds the columns that tell rows apart.
func (b *binder) key(names []string, t *catalogue.Table) []*catalogue.Column {
	if len(names) == 0 {
		if len(t.Keys) == 0 {
			b.faults.add("key", "table %s has no unique key without nulls; name one in the model", t.Name)
			return nil
		}
		names = t.Keys[0]
	} else if !t.Unique(names) {
		b.faults.add("key", "these fields are not known to be unique and never null")
		return nil
	}
	var key []*catalogue.Column
	for i, name := range names {
		at := fmt.Sprintf("key[%d]", i)
		c := b.column(t, name, at)
		switch {
		case c == nil:
		case !c.Kind.Sortable():
			b.faults.add(at, "pages cannot follow %s", c.Kind)
		case slices.Contains(key, c):
			b.faults.add(at, "given twice")
		default:
			key = append(key, c)
		}
	}
	return key
}

func (b *binder) shape(items []Item, t *catalogue.Table, path string, scope Scope, depth int) shape {
	if depth > MaxRelations {
		b.faults.add(path, "relations are nested more than %d deep", MaxRelations)
		return nil
	}
	if len(items) > MaxItems {
		b.faults.add(path, "has %d members, at most %d are allowed", len(items), MaxItems)
		return nil
	}
	var s shape
	seen := map[string]bool{}
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		name := item.Field
		if item.Relation != nil {
			name = item.Relation.Name
			at = join(at, name)
		}
		if seen[name] {
			b.faults.add(at, "given twice")
			continue
		}
		seen[name] = true
		if item.Relation == nil {
			if c := b.column(t, name, at); c != nil {
				s = append(s, shapeItem{column: c})
			}
			continue
		}
		if n := b.nested(item.Relation, t, at, scope, depth); n != nil {
			s = append(s, shapeItem{nested: n})
		}
	}
	return s
}

func (b *binder) nested(item *Nested, t *catalogue.Table, path string, scope Scope, depth int) *nested {
	r, found := t.Relation(item.Name)
	if !found {
		b.faults.add(path, "table %s has no relation %q", t.Name, item.Name)
		return nil
	}
	n := &nested{relation: r, floors: b.floorsOf(r, scope), limit: item.Limit}
	if n.limit == 0 {
		n.limit = DefaultNestedLimit
	}
	if n.limit < 1 || n.limit > MaxNestedLimit {
		b.faults.add(join(path, "limit"), "must be from 1 to %d", MaxNestedLimit)
	}
	if item.Where != nil {
		n.where = b.condition(item.Where, r.To, join(path, "where"), place{scope: scope})
	}
	if len(item.Select) == 0 {
		b.faults.add(join(path, "select"), "names no field")
	}
	n.order = b.orderings(item.Order, r.To, join(path, "order"))
	n.shape = b.shape(item.Select, r.To, join(path, "select"), scope, depth+1)
	return n
}
