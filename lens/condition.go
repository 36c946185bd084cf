package lens

// Condition is a node of a where: [All], [Any], [Not], [Everyone], [Compare] or
// [Related]. The set is closed.
type Condition interface{ condition() }

// All holds when each of its conditions does. It may not be empty.
type All struct {
	Conditions []Condition
	// implicit groups came from several keys of one object: their members' paths
	// have no "all" in them.
	implicit bool
}

// Any holds when one of its conditions does; empty, it matches nothing.
type Any struct{ Conditions []Condition }

// Not holds exactly when its condition does not, also where null is involved.
type Not struct{ Condition Condition }

// Everyone holds for every row. Nothing else does.
type Everyone struct{}

// Compare tests one field, or what a path finds in a JSON field.
type Compare struct {
	Field string
	Path  []Step
	Op    Op
	// Operand is what the field is compared with. For [IsNull] and [IsEmpty] it
	// is true or false.
	Operand Operand
	// IgnoreCase compares the letters A to Z without regard to case, for text.
	IgnoreCase bool
}

// Step is one step into a JSON value: a key of an object, or a position in an
// array.
type Step struct {
	Key     string
	Index   int
	IsIndex bool
}

// Related tests related rows.
type Related struct {
	Relation   string
	Quantifier Quantifier
	Where      Condition
}

func (All) condition()      {}
func (Any) condition()      {}
func (Not) condition()      {}
func (Everyone) condition() {}
func (Compare) condition()  {}
func (Related) condition()  {}
