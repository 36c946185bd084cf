package lens

import "github.com/postledger/postledger/lens/catalogue"

// bound is a condition whose names are columns and whose values are typed: what
// the compilers and the evaluator read.
type bound interface{ bound() }

type (
	boundAll []bound
	boundAny []bound
	boundNot struct{ inner bound }
	// boundConst is everyone or nobody.
	boundConst bool
	// boundCompare holds one column against values. values is empty only where
	// an operator takes none, or a list is; not yet known parameters leave it so
	// while a lens is only checked.
	boundCompare struct {
		column     *catalogue.Column
		path       []Step
		op         Op
		values     []any
		flag       bool
		ignoreCase bool
		// filled, beside isNull: no row has null there.
		filled bool
	}
	// boundRelated tests rows of a relation that satisfy every hop's floor.
	boundRelated struct {
		relation   *catalogue.Relation
		quantifier Quantifier
		// floors has the scope's condition for the table of each hop, or nil.
		floors []bound
		where  bound
	}
)

func (boundAll) bound()     {}
func (boundAny) bound()     {}
func (boundNot) bound()     {}
func (boundConst) bound()   {}
func (boundCompare) bound() {}
func (boundRelated) bound() {}

// target is what a value must fit.
type target struct {
	kind    catalogue.Kind
	details catalogue.Details
	// json says that a value within a JSON column is compared: its type is that
	// of the literal.
	json bool
	// round is how a literal that is finer than the encoding is taken.
	round rounding
}
