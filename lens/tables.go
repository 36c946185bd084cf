package lens

import (
	"slices"

	"github.com/postledger/postledger/lens/catalogue"
)

// eachCondition visits a condition on a table and all within it, each with the table that it
// is about. What leads nowhere is left out.
func eachCondition(condition Condition, t *catalogue.Table, visit func(Condition, *catalogue.Table)) {
	visit(condition, t)
	switch c := condition.(type) {
	case All:
		for _, inner := range c.Conditions {
			eachCondition(inner, t, visit)
		}
	case Any:
		for _, inner := range c.Conditions {
			eachCondition(inner, t, visit)
		}
	case Not:
		eachCondition(c.Condition, t, visit)
	case Related:
		if r, found := t.Relation(c.Relation); found {
			eachCondition(c.Where, r.To, visit)
		}
	}
}

// Tables are the names of the tables that the lens itself speaks of, in its where, without
// what a scope adds.
func (l Lens) Tables(c *catalogue.Catalogue) []string {
	t, found := c.Table(l.From)
	if !found {
		return nil
	}
	names := []string{t.Name}
	eachCondition(l.Where, t, func(condition Condition, t *catalogue.Table) {
		related, isRelated := condition.(Related)
		if !isRelated {
			return
		}
		if r, found := t.Relation(related.Relation); found {
			for _, hop := range r.Hops {
				names = append(names, hop.Table.Name)
			}
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}
