package catalogue

// Relation leads from the rows of one table to rows of another.
type Relation struct {
	Name string
	// From and To are tables of the catalogue.
	From, To *Table
	// Many tells whether a row may have several related rows.
	Many bool
	// Hops are the steps to the related row: one, or two through a table that
	// belongs to neither side.
	Hops []Hop
	// Declared says that the model file added it; no foreign key vouches for it.
	Declared bool
}

// Hop is an equality join from one table to the next.
type Hop struct {
	// Table is joined on Pairs: the previous table's column, then this one's.
	Table *Table
	Pairs []Pair
	// Fixed are columns that must hold a certain text, on the previous table or
	// on this one: the type half of a polymorphic relation.
	Fixed []Fixed
}

// Pair is two columns that must be equal.
type Pair struct{ Left, Right *Column }

// Fixed is a column that must hold Value. Left says that it is the previous
// table's column.
type Fixed struct {
	Left   bool
	Column *Column
	Value  string
}
