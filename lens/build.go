package lens

import "fmt"

// Where makes a lens of rows of a table in Go; chain [Lens.Selecting],
// [Lens.Sorted] and the others, or set the fields of a [Lens] directly.
//
//	lens.Where("users", lens.Of("country").Eq("NO"), lens.Of("orders").Some(lens.Of("total").Gte("100"))).
//		Selecting("email", lens.Relation("organization", "name"))
//
// Several conditions must all hold. A value that cannot be compared panics: it
// is a fault of the program, not of input.
func Where(from string, conditions ...Condition) Lens {
	l := Lens{From: from}
	if len(conditions) == 1 {
		l.Where = conditions[0]
	} else if len(conditions) > 1 {
		l.Where = All{Conditions: conditions, implicit: true}
	}
	return l
}

// Selecting sets the select: names of fields (string) and relations (*Nested,
// see [Relation]).
func (l Lens) Selecting(items ...any) Lens {
	l.Select = itemsOf(items)
	return l
}

// Relation is a relation to select, with its fields and relations.
func Relation(name string, items ...any) *Nested { return &Nested{Name: name, Select: itemsOf(items)} }

func itemsOf(items []any) []Item {
	selected := make([]Item, len(items))
	for i, item := range items {
		switch item := item.(type) {
		case string:
			selected[i] = Item{Field: item}
		case *Nested:
			selected[i] = Item{Relation: item}
		default:
			panic(fmt.Sprintf("lens: %T cannot be selected", item))
		}
	}
	return selected
}

// Sorted sets the order.
func (l Lens) Sorted(order ...Order) Lens {
	l.Order = order
	return l
}

// Asc sorts by a field, smallest first.
func Asc(field string) Order { return Order{Field: field} }

// Desc sorts by a field, largest first.
func Desc(field string) Order { return Order{Field: field, Desc: true} }

// With declares a parameter.
func (l Lens) With(name string, p Param) Lens {
	params := map[string]Param{name: p}
	for other, declared := range l.Params {
		if other != name {
			params[other] = declared
		}
	}
	l.Params = params
	return l
}

// Parameter is a value that is bound at run time.
func Parameter(name string) Value { return Value{Param: name} }

// AllOf holds when each condition does.
func AllOf(conditions ...Condition) Condition { return All{Conditions: conditions} }

// AnyOf holds when one condition does.
func AnyOf(conditions ...Condition) Condition { return Any{Conditions: conditions} }

// NotOf holds when the condition does not.
func NotOf(condition Condition) Condition { return Not{Condition: condition} }

// Term names a field or a relation, to make a condition of.
type Term struct {
	name       string
	path       []Step
	ignoreCase bool
}

// Of names a field or a relation.
func Of(name string) Term { return Term{name: name} }

// At goes into a JSON field: keys (string) and positions (int).
func (t Term) At(steps ...any) Term {
	t.path = make([]Step, len(steps))
	for i, step := range steps {
		switch step := step.(type) {
		case string:
			t.path[i] = Step{Key: step}
		case int:
			t.path[i] = Step{Index: step, IsIndex: true}
		default:
			panic(fmt.Sprintf("lens: %T is not a step into JSON", step))
		}
	}
	return t
}

// IgnoreCase compares the letters A to Z without regard to case.
func (t Term) IgnoreCase() Term {
	t.ignoreCase = true
	return t
}

func (t Term) compare(op Op, value any) Condition {
	operand, err := operandOf(value)
	if err != nil {
		panic("lens: " + t.name + "." + string(op) + ": " + err.Error())
	}
	return Compare{Field: t.name, Path: t.path, Op: op, Operand: operand, IgnoreCase: t.ignoreCase}
}

func (t Term) related(q Quantifier, where Condition) Condition {
	return Related{Relation: t.name, Quantifier: q, Where: where}
}
