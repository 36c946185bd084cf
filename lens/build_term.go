package lens

// Eq: the field is equal.
func (t Term) Eq(value any) Condition { return t.compare(Eq, value) }

// Ne: the field is not equal, or null.
func (t Term) Ne(value any) Condition { return t.compare(Ne, value) }

// Lt: the field is less.
func (t Term) Lt(value any) Condition { return t.compare(Lt, value) }

// Lte: the field is less or equal.
func (t Term) Lte(value any) Condition { return t.compare(Lte, value) }

// Gt: the field is greater.
func (t Term) Gt(value any) Condition { return t.compare(Gt, value) }

// Gte: the field is greater or equal.
func (t Term) Gte(value any) Condition { return t.compare(Gte, value) }

// Contains: the field is text that contains the value.
func (t Term) Contains(value any) Condition { return t.compare(Contains, value) }

// StartsWith: the field is text that starts with the value.
func (t Term) StartsWith(value any) Condition { return t.compare(StartsWith, value) }

// EndsWith: the field is text that ends with the value.
func (t Term) EndsWith(value any) Condition { return t.compare(EndsWith, value) }

// Has: the field is an array that holds the value.
func (t Term) Has(value any) Condition { return t.compare(Has, value) }

// In: the field is one of the values, a slice or a [Parameter].
func (t Term) In(values any) Condition { return t.compare(In, values) }

// NotIn: the field is none of the values, or null.
func (t Term) NotIn(values any) Condition { return t.compare(NotIn, values) }

// HasSome: the field is an array that holds one of the values.
func (t Term) HasSome(values any) Condition { return t.compare(HasSome, values) }

// HasEvery: the field is an array that holds each of the values.
func (t Term) HasEvery(values any) Condition { return t.compare(HasEvery, values) }

// Between: the field lies between two values, both included.
func (t Term) Between(from, to any) Condition { return t.compare(Between, []any{from, to}) }

// IsNull: the field is null, or with false is not.
func (t Term) IsNull(yes bool) Condition { return t.compare(IsNull, yes) }

// IsEmpty: the field is an array without elements, or with false is an array
// that has some.
func (t Term) IsEmpty(yes bool) Condition { return t.compare(IsEmpty, yes) }

// Some: the condition holds for a related row.
func (t Term) Some(where Condition) Condition { return t.related(Some, where) }

// Every: the condition holds for each related row.
func (t Term) Every(where Condition) Condition { return t.related(Every, where) }

// None: the condition holds for no related row.
func (t Term) None(where Condition) Condition { return t.related(None, where) }

// Is: the condition holds for the related row.
func (t Term) Is(where Condition) Condition { return t.related(Is, where) }

// IsNot: the condition does not hold for the related row, or there is none.
func (t Term) IsNot(where Condition) Condition { return t.related(IsNot, where) }
