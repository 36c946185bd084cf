package lens

import (
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// Rows are ordered by the columns of an order as lenses compare them, and then by
// the key as the database itself does: whatever order that is, it is the key's own,
// and the index of the key has it.

// present is a condition that a column has a value of its kind, or "" when it
// always does.
func (w *writer) present(c *catalogue.Column, alias string) (expr, present string) {
	ref := w.ref(alias, c)
	expr, fits := w.dialect.operand(c, ref, false)
	switch {
	case fits != "":
		return expr, ref + " IS NOT NULL AND " + fits
	case c.Nullable:
		return expr, ref + " IS NOT NULL"
	}
	return expr, ""
}

// orderBy writes the terms of an ORDER BY, null last in either direction.
func (w *writer) orderBy(order []ordering, key []*catalogue.Column, alias string) string {
	var terms []string
	for _, o := range order {
		expr, present := w.present(o.column, alias)
		direction := ""
		if o.desc {
			direction = " DESC"
		}
		switch {
		case present == "":
			terms = append(terms, expr+direction)
		default:
			// What is no value of the kind must not be ordered by what it is.
			terms = append(terms, "CASE WHEN "+present+" THEN 0 ELSE 1 END", "CASE WHEN "+present+" THEN "+expr+" END"+direction)
		}
	}
	for _, c := range key {
		terms = append(terms, w.ref(alias, c))
	}
	return strings.Join(terms, ", ")
}

// after is the condition that a row comes after a position: it is equal in the
// first columns and beyond in the next, for each number of first columns.
func (w *writer) after(order []ordering, key []*catalogue.Column, alias string, at position) string {
	n := len(order) + len(key)
	equal := func(i int) string {
		if i < len(order) {
			return w.equalAt(order[i].column, alias, at.order[i])
		}
		c := key[i-len(order)]
		return w.ref(alias, c) + " = " + w.dialect.bindRaw(w, c, at.key[i-len(order)])
	}
	beyond := func(i int) string {
		if i < len(order) {
			return w.beyondAt(order[i], alias, at.order[i])
		}
		c := key[i-len(order)]
		return w.ref(alias, c) + " > " + w.dialect.bindRaw(w, c, at.key[i-len(order)])
	}
	var head string
	if len(order) == 0 && len(key) > 1 {
		// Implied by what follows, and what an index can begin at.
		head = w.ref(alias, key[0]) + " >= " + w.dialect.bindRaw(w, key[0], at.key[0]) + " AND "
	}
	cases := make([]string, n)
	for i := range n {
		var parts []string
		for j := range i {
			parts = append(parts, equal(j))
		}
		cases[i] = "(" + strings.Join(append(parts, beyond(i)), " AND ") + ")"
	}
	return head + "(" + strings.Join(cases, " OR ") + ")"
}

func (w *writer) equalAt(c *catalogue.Column, alias string, v any) string {
	expr, present := w.present(c, alias)
	switch {
	case v == nil && present == "":
		return "1 = 0"
	case v == nil:
		return "(" + present + ") IS NOT TRUE"
	}
	equal := expr + " = " + w.dialect.value(w, targetOf(c), v)
	if present != "" {
		equal = "(" + equal + " AND " + present + ")"
	}
	return equal
}

func (w *writer) beyondAt(o ordering, alias string, v any) string {
	expr, present := w.present(o.column, alias)
	if v == nil {
		return "1 = 0" // null is last
	}
	sign := " > "
	if o.desc {
		sign = " < "
	}
	beyond := expr + sign + w.dialect.value(w, targetOf(o.column), v)
	if present != "" {
		beyond = "(" + beyond + " AND " + present + " OR (" + present + ") IS NOT TRUE)"
	}
	return beyond
}

func targetOf(c *catalogue.Column) target { return target{kind: c.Kind, details: c.Details} }
