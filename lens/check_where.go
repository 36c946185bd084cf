package lens

import (
	"fmt"
	"slices"

	"github.com/postledger/postledger/lens/catalogue"
)

// place is where a condition stands.
type place struct {
	scope            Scope
	depth, relations int
}

func (p place) in() place {
	p.depth++
	return p
}

// condition binds a condition on rows of a table. What could only be true, and
// does not say everyone, is a fault.
func (b *binder) condition(c Condition, t *catalogue.Table, path string, at place) bound {
	b.conditions++
	switch {
	case at.depth > MaxDepth:
		b.faults.add(path, "nested more than %d deep", MaxDepth)
		return boundConst(false)
	case b.conditions > MaxConditions:
		if b.conditions == MaxConditions+1 {
			b.faults.add(path, "a lens has at most %d conditions", MaxConditions)
		}
		return boundConst(false)
	}
	switch c := c.(type) {
	case Everyone:
		return boundConst(true)
	case All:
		if len(c.Conditions) == 0 {
			b.faults.add(path, `an empty list would match every row; that is {"everyone": true}`)
			return boundConst(false)
		}
		all := make(boundAll, len(c.Conditions))
		for i, inner := range c.Conditions {
			in := fmt.Sprintf("%s.all[%d]", path, i)
			if c.implicit {
				in = path // the member adds its own name
			}
			all[i] = b.condition(inner, t, in, at.in())
		}
		return all
	case Any:
		anyOf := make(boundAny, len(c.Conditions))
		for i, inner := range c.Conditions {
			in := fmt.Sprintf("%s.any[%d]", path, i)
			anyOf[i] = b.condition(inner, t, in, at.in())
			if constant(anyOf[i]) == always {
				b.faults.add(in, `holds for every row, whatever stands beside it: everyone is {"everyone": true} alone`)
			}
		}
		return anyOf
	case Not:
		inner := b.condition(c.Condition, t, path+".not", at.in())
		if constant(inner) == never {
			b.faults.add(path+".not", "the negation of what matches nothing would match every row")
		}
		return boundNot{inner}
	case Compare:
		return b.compare(c, t, join(path, c.Field))
	case Related:
		return b.related(c, t, join(path, c.Relation), at)
	}
	b.faults.add(path, `missing; every row is {"everyone": true}`)
	return boundConst(false)
}

// whole binds a condition that decides by itself who is meant: a lens's, or a floor's.
// What holds for every row must say so.
func (b *binder) whole(c Condition, t *catalogue.Table, path string, at place) bound {
	known := len(b.faults)
	whole := b.condition(c, t, path, at)
	if len(b.faults) == known && constant(whole) == always && !saysEveryone(c) {
		b.faults.add(path, `holds for every row; that is {"everyone": true}`)
	}
	return whole
}

func saysEveryone(c Condition) bool {
	switch c := c.(type) {
	case Everyone:
		return true
	case All:
		return !slices.ContainsFunc(c.Conditions, func(inner Condition) bool { return !saysEveryone(inner) })
	}
	return false
}

func (b *binder) related(c Related, t *catalogue.Table, path string, at place) bound {
	r, found := t.Relation(c.Relation)
	if !found {
		if _, field := t.Column(c.Relation); field {
			b.faults.add(path, "is a field, not a relation")
		} else {
			b.faults.add(path, "table %s has no relation %q", t.Name, c.Relation)
		}
		return boundConst(false)
	}
	path = join(path, string(c.Quantifier))
	many, known := quantifiers[c.Quantifier]
	switch {
	case !known:
		b.faults.add(path, "unknown; a relation takes some, every, none, is or isNot")
		return boundConst(false)
	case many && !r.Many:
		b.faults.add(path, "the relation leads to one row: use is or isNot")
		return boundConst(false)
	case !many && r.Many:
		b.faults.add(path, "the relation leads to many rows: use some, every or none")
		return boundConst(false)
	case at.relations == MaxRelations:
		b.faults.add(path, "relations are nested more than %d deep", MaxRelations)
		return boundConst(false)
	}
	inner := at.in()
	inner.relations++
	where := b.condition(c.Where, r.To, path, inner)
	related := boundRelated{relation: r, quantifier: c.Quantifier, floors: b.floorsOf(r, at.scope), where: where}
	switch truth := constant(where); {
	case (truth == never || related.closed()) && (c.Quantifier == None || c.Quantifier == IsNot):
		b.faults.add(path, "the negation of what matches nothing would match every row")
	case related.closed() && c.Quantifier == Every:
		b.faults.add(path, "there are no rows for this lens: it would match every row")
	case truth == always && c.Quantifier == Every:
		b.faults.add(path, "every row holds for everyone: it would match every row")
	}
	return related
}

// closed tells that a floor admits no row on the relation's way.
func (r *boundRelated) closed() bool {
	return slices.ContainsFunc(r.floors, func(f bound) bool { return constant(f) == never })
}
