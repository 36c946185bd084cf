package lens

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// String is the lens in one line, for people: which rows, and what of them.
// Parameters stand by their names, values as they were written.
func (l Lens) String() string {
	var b strings.Builder
	b.WriteString(englishItems(l.Select) + " of " + l.From)
	switch c := l.Where.(type) {
	case nil:
		b.WriteString(", without saying which")
	case Everyone:
		b.WriteString(", every row")
	default:
		b.WriteString(" where " + english(c, false))
	}
	if len(l.Order) > 0 {
		b.WriteString(", by " + strings.Join(englishOrder(l.Order), ", then "))
	}
	return b.String()
}

func englishOrder(order []Order) []string {
	out := make([]string, len(order))
	for i, o := range order {
		if out[i] = o.Field; o.Desc {
			out[i] += " downwards"
		}
	}
	return out
}

func englishItems(items []Item) string {
	out := make([]string, len(items))
	for i, item := range items {
		if item.Relation == nil {
			out[i] = item.Field
			continue
		}
		n := item.Relation
		inner := englishItems(n.Select)
		if n.Where != nil {
			inner += " where " + english(n.Where, false)
		}
		if len(n.Order) > 0 {
			inner += " by " + strings.Join(englishOrder(n.Order), ", ")
		}
		if n.Limit > 0 {
			inner += fmt.Sprintf(", at most %d", n.Limit)
		}
		out[i] = n.Name + " (" + inner + ")"
	}
	return strings.Join(out, ", ")
}

// english writes a condition; within another it is put in parentheses where it
// would be read wrongly.
func english(c Condition, within bool) string {
	joined := func(conditions []Condition, word, none string) string {
		if len(conditions) == 0 {
			return none
		}
		if len(conditions) == 1 {
			return english(conditions[0], within)
		}
		parts := make([]string, len(conditions))
		for i, inner := range conditions {
			parts[i] = english(inner, true)
		}
		text := strings.Join(parts, word)
		if within {
			text = "(" + text + ")"
		}
		return text
	}
	switch c := c.(type) {
	case Everyone:
		return "anything"
	case All:
		return joined(c.Conditions, " and ", "nothing said")
	case Any:
		return joined(c.Conditions, " or ", "never")
	case Not:
		return "not " + english(c.Condition, true)
	case Related:
		return englishRelated(c)
	case Compare:
		return englishCompare(c)
	}
	return "nothing said"
}

func englishRelated(c Related) string {
	where := " where " + english(c.Where, false)
	if _, all := c.Where.(Everyone); all {
		where = ""
	}
	switch c.Quantifier {
	case Some:
		return "(there are " + c.Relation + where + ")"
	case None:
		return "(there are no " + c.Relation + where + ")"
	case Every:
		return "(all " + c.Relation + " have " + english(c.Where, false) + ")"
	case Is:
		return "(there is its " + c.Relation + where + ")"
	case IsNot:
		return "(there is no " + c.Relation + where + ")"
	}
	return "(" + c.Relation + " " + string(c.Quantifier) + where + ")"
}

// englishOps are the words of each operator.
var englishOps = map[Op]string{
	Eq: "is", Ne: "is not", In: "is one of", NotIn: "is none of", Lt: "is below", Lte: "is at most", Gt: "is above",
	Gte: "is at least", Between: "is between", Contains: "contains", StartsWith: "starts with", EndsWith: "ends with",
	Has: "has", HasSome: "has one of", HasEvery: "has each of",
}

func englishCompare(c Compare) string {
	name := c.Field
	for _, step := range c.Path {
		if step.IsIndex {
			name += fmt.Sprintf("[%d]", step.Index)
		} else {
			name += "." + step.Key
		}
	}
	no := c.Operand.One.Literal == false
	switch c.Op {
	case IsNull:
		return name + map[bool]string{false: " is null", true: " is not null"}[no]
	case IsEmpty:
		return name + map[bool]string{false: " is empty", true: " is not empty"}[no]
	}
	word, known := englishOps[c.Op]
	if !known {
		word = string(c.Op)
	}
	text := name + " " + word + " " + englishOperand(c.Op, c.Operand)
	if c.IgnoreCase {
		text += " in any case"
	}
	return text
}

func englishOperand(op Op, o Operand) string {
	if !o.IsList {
		return englishValue(o.One)
	}
	values := make([]string, len(o.List))
	for i, v := range o.List {
		values[i] = englishValue(v)
	}
	const shown = 5
	if len(values) > shown {
		values = append(slices.Clone(values[:shown]), fmt.Sprintf("… (%d in all)", len(o.List)))
	}
	if op == Between {
		return strings.Join(values, " and ")
	}
	return strings.Join(values, ", ")
}

func englishValue(v Value) string {
	if v.Param != "" {
		return "$" + v.Param
	}
	text, err := json.Marshal(v.Literal)
	if err != nil {
		return fmt.Sprint(v.Literal)
	}
	return string(text)
}
