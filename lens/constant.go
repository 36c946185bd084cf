package lens

import "slices"

// truth is what a condition is whatever the row.
type truth int

const (
	depends truth = iota
	never
	always
)

// constant tells whether a condition is the same for every row, as far as its
// form and its column tell.
func constant(c bound) truth {
	switch c := c.(type) {
	case boundConst:
		if c {
			return always
		}
		return never
	case boundAll:
		if slices.ContainsFunc(c, func(inner bound) bool { return constant(inner) == never }) {
			return never
		}
		if !slices.ContainsFunc(c, func(inner bound) bool { return constant(inner) != always }) {
			return always
		}
	case boundAny:
		if slices.ContainsFunc(c, func(inner bound) bool { return constant(inner) == always }) {
			return always
		}
		if !slices.ContainsFunc(c, func(inner bound) bool { return constant(inner) != never }) {
			return never
		}
	case boundNot:
		switch constant(c.inner) {
		case always:
			return never
		case never:
			return always
		}
	case boundRelated:
		if (constant(c.where) == never || c.closed()) && (c.quantifier == Some || c.quantifier == Is) {
			return never
		}
	case boundCompare:
		if c.filled {
			if c.flag {
				return never
			}
			return always
		}
	}
	return depends
}
