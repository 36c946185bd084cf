package lens

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// operands types every value of an operand. complete is false while a parameter
// has no value yet.
func (b *binder) operands(goal target, t takes, o Operand, path string) (values []any, complete bool) {
	if t == takesList && !o.IsList && o.One.Param != "" && b.params[o.One.Param].List {
		return b.listParam(goal, o.One.Param, path)
	}
	list := []Value{o.One}
	if o.IsList {
		list = o.List
	}
	if len(list) > MaxList {
		b.faults.add(path, "has %d values, at most %d are allowed", len(list), MaxList)
		return nil, true
	}
	complete = true
	for i, v := range list {
		at := path
		if o.IsList {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		value, known := b.value(goal, v, at)
		complete = complete && known
		values = append(values, value)
	}
	b.count(len(values), path)
	return values, complete
}

func (b *binder) count(n int, path string) {
	if b.values += n; b.values > MaxValues && b.values-n <= MaxValues {
		b.faults.add(path, "a lens has at most %d values", MaxValues)
	}
}

func (b *binder) value(goal target, v Value, path string) (value any, known bool) {
	if v.Param == "" {
		return b.typed(goal, v.Literal, path), true
	}
	p, ok := b.param(goal, v.Param, path)
	if !ok {
		return nil, true
	}
	if p.List {
		b.faults.add(path, "parameter %s is a list", v.Param)
		return nil, true
	}
	given, known := b.argument(v.Param, p, path)
	if !known || given.IsList {
		return nil, known
	}
	return b.typed(goal, given.One.Literal, path), true
}

func (b *binder) listParam(goal target, name, path string) (values []any, known bool) {
	p, ok := b.param(goal, name, path)
	if !ok {
		return nil, true
	}
	given, known := b.argument(name, p, path)
	if !known {
		return nil, false
	}
	if len(given.List) > MaxList {
		b.faults.add(path, "parameter %s has %d values, at most %d are allowed", name, len(given.List), MaxList)
		return nil, true
	}
	for i, v := range given.List {
		values = append(values, b.typed(goal, v.Literal, fmt.Sprintf("%s[%d]", path, i)))
	}
	b.count(len(values), path)
	return values, true
}

func (b *binder) typed(goal target, literal any, path string) any {
	value, problem := b.literal(goal, literal)
	if problem != "" {
		b.faults.add(path, "%s", problem)
	}
	return value
}

// param finds a declared parameter and checks that its kind suits the field.
func (b *binder) param(goal target, name, path string) (Param, bool) {
	p, declared := b.params[name]
	b.used[name] = true
	switch {
	case !declared:
		b.faults.add(path, "parameter %q is not declared in params", name)
	case !suits(p.Kind, goal):
		b.faults.add(path, "parameter %s is %s, the field holds %s", name, p.Kind, goal.kind)
	default:
		return p, true
	}
	return Param{}, false
}

// suits tells whether every value of a parameter's kind means something to a
// field.
func suits(p catalogue.Kind, goal target) bool {
	if goal.json {
		return p == catalogue.Text || p == catalogue.Bool || p == catalogue.Float || p == catalogue.Int
	}
	switch goal.kind {
	case catalogue.Int, catalogue.BigInt:
		return p == catalogue.Int || p == catalogue.BigInt
	case catalogue.Decimal:
		return p == catalogue.Int || p == catalogue.BigInt || p == catalogue.Decimal
	case catalogue.Enum:
		return p == catalogue.Text
	}
	return p == goal.kind
}

// parameterKinds may be declared.
var parameterKinds = []catalogue.Kind{
	catalogue.Bool, catalogue.Int, catalogue.BigInt, catalogue.Decimal, catalogue.Float, catalogue.Text, catalogue.Bytes,
	catalogue.Time, catalogue.Date, catalogue.Timestamp, catalogue.TimestampTZ, catalogue.UUID,
}

func (b *binder) checkParam(name string, p Param, path string) {
	if !catalogue.Name(name) {
		b.faults.add(path, "must be a name: letters, digits and _")
	}
	if !slices.Contains(parameterKinds, p.Kind) {
		b.faults.add(join(path, "kind"), "%q is not a kind that a parameter can have", p.Kind)
		return
	}
	if p.Default != nil {
		b.wrong[name] = !b.argumentOf(*p.Default, p, join(path, "default"), true)
	}
}

// argument is the value of a parameter: what was given, or its default. One that is
// wrong is told of here, and is then no value at all: a list of none.
func (b *binder) argument(name string, p Param, path string) (o Operand, known bool) {
	given, found := b.given[name]
	switch {
	case found:
		operand, err := operandOf(given)
		switch {
		case errors.Is(err, errNull):
			b.faults.add(path, "parameter %s %v", name, err)
		case err != nil:
			b.faults.add(path, "parameter %s: %v", name, err)
		default:
			operand.One = operand.One.asKind(p.Kind)
			for i := range operand.List {
				operand.List[i] = operand.List[i].asKind(p.Kind)
			}
			if b.argumentOf(operand, p, join(path, "param")+" "+name, false) {
				return operand, true
			}
		}
		return Operand{IsList: true}, true
	case b.wrong[name]:
		return Operand{}, false // told of where it is declared
	case p.Default != nil:
		return *p.Default, true
	case b.checking:
		return Operand{}, false
	}
	b.faults.add(path, "parameter %s is missing", name)
	return Operand{IsList: true}, true
}

// argumentOf checks a value against the declaration, and tells whether it is one.
// Relative times are for whoever writes the lens, not for who calls it.
func (b *binder) argumentOf(o Operand, p Param, path string, author bool) bool {
	before := len(b.faults)
	if o.IsList != p.List {
		b.faults.add(path, "must be %s", map[bool]string{true: "a list", false: "one value"}[p.List])
		return false
	}
	list := o.List
	if !o.IsList {
		list = []Value{o.One}
	}
	for _, v := range list {
		text, isText := v.Literal.(string)
		switch {
		case v.Param != "" || v.Literal == nil:
			b.faults.add(path, "must be a value")
		case !author && isText && p.Kind.Moment() && strings.HasPrefix(text, "now"):
			b.faults.add(path, "must be a time, not one relative to now")
		default:
			b.typed(target{kind: p.Kind}, v.Literal, path)
		}
	}
	return len(b.faults) == before
}

// knowsGiven refuses values that no parameter asks for: a misspelt name must not
// leave a default in force.
func (b *binder) knowsGiven() {
	for _, name := range slices.Sorted(maps.Keys(b.given)) {
		if _, declared := b.params[name]; !declared {
			b.faults.add(join("params", name), "no such parameter is declared")
		}
	}
}
