package lens

import (
	"fmt"
	"slices"

	"github.com/postledger/postledger/lens/catalogue"
)

// compare binds one comparison. It returns what matches nothing where there is a
// fault, and where a list is empty.
func (b *binder) compare(c Compare, t *catalogue.Table, path string) bound {
	column := b.column(t, c.Field, path)
	if column == nil {
		return boundConst(false)
	}
	rule, known := operators[c.Op]
	at := join(path, string(c.Op))
	if !known {
		b.faults.add(at, "unknown operator")
		return boundConst(false)
	}
	if problem := rule.takes.problem(c.Operand); problem != "" {
		b.faults.add(at, "%s", problem)
		return boundConst(false)
	}
	goal := target{kind: column.Kind, details: column.Details}
	switch {
	case len(c.Path) > 0 && !b.steps(c, column, path):
		return boundConst(false)
	case len(c.Path) > 0:
		goal.json = true
	case column.Kind == catalogue.JSON && c.Op != IsNull:
		b.faults.add(at, "a JSON field is compared at a path within it")
		return boundConst(false)
	case !rule.fits(column.Kind):
		b.faults.add(at, "does not apply to %s", column.Kind)
		return boundConst(false)
	case column.Kind == catalogue.Array:
		goal = target{kind: column.Element}
	}
	if c.IgnoreCase && !(foldable[c.Op] && (goal.json || column.Kind == catalogue.Text)) {
		b.faults.add(at, "ignoreCase applies to eq, ne, in, notIn, contains, startsWith and endsWith on text")
		return boundConst(false)
	}
	bound := boundCompare{column: column, path: c.Path, op: c.Op, ignoreCase: c.IgnoreCase}
	if rule.takes == takesFlag {
		bound.flag, _ = c.Operand.One.Literal.(bool)
		bound.filled = c.Op == IsNull && len(c.Path) == 0 && b.filled(column, t)
		return bound
	}
	before := len(b.faults)
	values, complete := b.operands(goal, rule.takes, c.Operand, at)
	if len(b.faults) > before {
		return boundConst(false)
	}
	bound.values = values
	if !complete {
		return bound
	}
	return b.settled(bound, goal, at)
}

// filled tells whether a column is never null, also where what is no value of its kind
// counts as null: in a key it is an error.
func (b *binder) filled(c *catalogue.Column, t *catalogue.Table) bool {
	if c.Nullable || c.Kind == catalogue.JSON || c.Kind == catalogue.Array {
		return false
	}
	inKey := slices.ContainsFunc(t.Keys, func(key []string) bool { return slices.Contains(key, c.Name) })
	_, fits := dialects[b.catalogue.Dialect].operand(c, "c", true)
	return inKey || fits == ""
}

// foldable operators know ignoreCase.
var foldable = map[Op]bool{Eq: true, Ne: true, In: true, NotIn: true, Contains: true, StartsWith: true, EndsWith: true}

// settled checks what needs all values: lists that are empty, ends in the wrong
// order, literals of JSON that must be of one type.
func (b *binder) settled(c boundCompare, goal target, path string) bound {
	switch {
	case len(c.values) > 0:
	case c.op == NotIn || c.op == HasEvery:
		b.faults.add(path, `an empty list would match every row; that is {"everyone": true}`)
		return boundConst(false)
	default:
		return boundConst(false)
	}
	if goal.json {
		if problem := jsonProblem(c); problem != "" {
			b.faults.add(path, "%s", problem)
			return boundConst(false)
		}
	}
	if c.op == Between && compareValues(c.values[0], c.values[1]) > 0 {
		b.faults.add(path, "the first value is greater than the second")
		return boundConst(false)
	}
	switch {
	case c.values[0] != "":
	case c.op == Contains, c.op == StartsWith, c.op == EndsWith, c.op == Gte:
		b.faults.add(path, "empty text would match every row that has any")
		return boundConst(false)
	case c.op == Lt:
		b.faults.add(path, "no text is less than an empty one")
		return boundConst(false)
	}
	return c
}

func jsonProblem(c boundCompare) string {
	sort := fmt.Sprintf("%T", c.values[0])
	for _, v := range c.values[1:] {
		if fmt.Sprintf("%T", v) != sort {
			return "the values must be of one type: text, numbers or true and false"
		}
	}
	_, isText := c.values[0].(string)
	_, isBool := c.values[0].(bool)
	switch c.op {
	case Contains, StartsWith, EndsWith:
		if !isText {
			return "must be text"
		}
	case Lt, Lte, Gt, Gte, Between:
		if isBool {
			return "true and false are not ordered"
		}
	}
	if c.ignoreCase && !isText {
		return "ignoreCase applies to text"
	}
	return ""
}

// steps checks a path into a JSON field.
func (b *binder) steps(c Compare, column *catalogue.Column, path string) bool {
	at := join(path, "path")
	switch {
	case column.Kind != catalogue.JSON:
		b.faults.add(at, "the field holds %s, not JSON", column.Kind)
		return false
	case len(c.Path) > maxSteps:
		b.faults.add(at, "has %d steps, at most %d are allowed", len(c.Path), maxSteps)
		return false
	case operators[c.Op].fits(catalogue.Array):
		if c.Op != IsNull {
			b.faults.add(join(path, string(c.Op)), "does not apply to JSON")
			return false
		}
	}
	good := true
	for i, step := range c.Path {
		if problem := step.problem(); problem != "" {
			b.faults.add(fmt.Sprintf("%s[%d]", at, i), "%s", problem)
			good = false
		}
	}
	return good
}
