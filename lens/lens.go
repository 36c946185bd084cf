package lens

import "github.com/postledger/postledger/lens/catalogue"

// Lens is a projection as it was written, not yet checked against anything.
type Lens struct {
	// From is the table.
	From string
	// Where says which rows; nil is an error, not everyone.
	Where Condition
	// Select says which fields and relations leave the library.
	Select []Item
	// Order is how rows are sorted; the key decides between equals.
	Order []Order
	// Key is unique and never null, and pages follow it: the table's primary
	// key when it is empty.
	Key []string
	// Params are what is bound at run time. Each that is declared must be used.
	Params map[string]Param
	// Zone is the IANA time zone of relative times; without one they may only
	// count hours, minutes and seconds.
	Zone string
}

// Item is a field or a relation of a select.
type Item struct {
	Field    string
	Relation *Nested
}

// Nested is a relation within a select: which related rows, and what of them.
type Nested struct {
	Name string
	// Where may be nil: every related row that the scope admits.
	Where  Condition
	Select []Item
	Order  []Order
	// Limit bounds related rows for each row: 0 is [DefaultNestedLimit].
	Limit int
}

// Order is one column to sort by. Null sorts last, in either direction.
type Order struct {
	Field string
	Desc  bool
}

// Param declares a parameter.
type Param struct {
	Kind catalogue.Kind
	// List says that the value is a list, for operators that take one.
	List bool
	// Default stands in when no value is given; without one the parameter is
	// required.
	Default *Operand
}
