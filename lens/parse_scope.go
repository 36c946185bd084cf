package lens

import (
	"maps"
	"slices"
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

// ParseScope reads a scope from JSON or YAML:
//
//	where:
//	  users: {deleted_at: {isNull: true}}
//	  orders: {placed_at: {gte: now-1y}}
//	zone: Europe/Oslo
//	params:
//	  tenant: {kind: uuid}
//
// Whatever it does not know is an error that names its path. {any: []} closes a
// table.
func ParseScope(text []byte) (Scope, error) {
	root, err := yamlTree(text)
	if err != nil {
		return Scope{}, err
	}
	p := &parser{}
	s := p.scope(root)
	if err := p.faults.err(); err != nil {
		return Scope{}, err
	}
	return s, nil
}

func (p *parser) scope(n node) Scope {
	s := Scope{Where: map[string]Condition{}}
	if !n.is(object) {
		p.faults.add("", "a scope is an object, not %s", n.describe())
		return s
	}
	for _, m := range n.members {
		switch m.name {
		case "where":
			p.floors(m.node, s.Where)
		case "params":
			s.Params = p.params(m.node)
		case "zone":
			s.Zone = p.text(m.node, m.name)
		default:
			p.faults.add(m.name, "unknown; a scope has where, params and zone")
		}
	}
	if !n.has("where") {
		p.faults.add("where", "missing; a scope has a condition for each table that it bounds")
	}
	return s
}

func (p *parser) floors(n node, into map[string]Condition) {
	if !n.is(object) || len(n.members) == 0 {
		p.faults.add("where", "must be an object with a condition for each table")
		return
	}
	for _, m := range n.members {
		path := join("where", m.name)
		if !catalogue.Name(m.name) {
			p.faults.add(path, "must be a name: letters, digits and _")
			continue
		}
		into[m.name] = p.where(m.node, path, 0)
	}
}

// Check holds a scope against a catalogue by itself, as [Lens.Check] does with
// every lens.
func (s Scope) Check(c *catalogue.Catalogue) error {
	b := newBinder(c, nil, "", "", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b.floor = newBinder(c, s.Params, s.Zone, "scope", b.now)
	b.floor.checking = true
	b.floorsOfAll(s)
	return b.floor.faults.err()
}

// floorsOfAll binds every floor, also of tables that no lens touches.
func (b *binder) floorsOfAll(s Scope) {
	for _, table := range slices.Sorted(maps.Keys(s.Where)) {
		if t, ok := b.catalogue.Table(table); ok {
			b.floorOf(t, s)
			continue
		}
		b.floor.faults.add(join("scope", table), "the catalogue has no such table")
	}
}

// And gives a scope that admits what both admit. The zone is the one that is set;
// two different ones, or parameters of one name, cannot be joined.
func (s Scope) And(other Scope) (Scope, error) {
	out := Scope{Where: maps.Clone(s.Where), Params: maps.Clone(s.Params), Zone: s.Zone}
	if out.Where == nil {
		out.Where = map[string]Condition{}
	}
	var f faults
	switch {
	case out.Zone == "":
		out.Zone = other.Zone
	case other.Zone != "" && other.Zone != out.Zone:
		f.add("zone", "the scopes have different zones, %s and %s", out.Zone, other.Zone)
	}
	for _, table := range slices.Sorted(maps.Keys(other.Where)) {
		condition := other.Where[table]
		if first, both := out.Where[table]; both {
			condition = All{Conditions: []Condition{first, condition}}
		}
		out.Where[table] = condition
	}
	for _, name := range slices.Sorted(maps.Keys(other.Params)) {
		if _, taken := out.Params[name]; taken {
			f.add(join("params", name), "is a parameter of both scopes")
			continue
		}
		if out.Params == nil {
			out.Params = map[string]Param{}
		}
		out.Params[name] = other.Params[name]
	}
	return out, f.err()
}
