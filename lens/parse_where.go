package lens

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// where reads an object whose keys are all, any, not, everyone, or names of
// fields and relations. Several keys must all hold.
func (p *parser) where(n node, path string, depth int) Condition {
	switch {
	case !n.is(object):
		p.faults.add(path, `must be an object, not %s; every row is {"everyone": true}`, n.describe())
		return nil
	case len(n.members) == 0:
		p.faults.add(path, `an empty condition is refused; every row is {"everyone": true}`)
		return nil
	case depth > MaxDepth:
		p.faults.add(path, "nested more than %d deep", MaxDepth)
		return nil
	}
	group := All{implicit: true}
	for _, m := range n.members {
		group.Conditions = append(group.Conditions, p.member(m, join(path, m.name), depth))
	}
	if len(group.Conditions) == 1 {
		return group.Conditions[0]
	}
	return group
}

func (p *parser) member(m member, path string, depth int) Condition {
	switch m.name {
	case "all", "any":
		if !m.node.is(list) {
			p.faults.add(path, "must be a list of conditions, not %s", m.node.describe())
			return nil
		}
		if m.name == "all" && len(m.node.items) == 0 {
			p.faults.add(path, `an empty list would match every row; that is {"everyone": true}`)
		}
		conditions := make([]Condition, len(m.node.items))
		for i, item := range m.node.items {
			conditions[i] = p.where(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
		if m.name == "all" {
			return All{Conditions: conditions}
		}
		return Any{Conditions: conditions}
	case "not":
		return Not{Condition: p.where(m.node, path, depth+1)}
	case "everyone":
		if m.node.value != true {
			p.faults.add(path, "must be true")
		}
		return Everyone{}
	}
	if !catalogue.Name(m.name) {
		p.faults.add(path, "is not a name: letters, digits and _")
		return nil
	}
	return p.leaf(m.name, m.node, path, depth)
}

// leaf reads the operators on a field, or the quantifiers on a relation. Which
// it is, the words tell: the catalogue is not known yet.
func (p *parser) leaf(name string, n node, path string, depth int) Condition {
	if !n.is(object) {
		p.faults.add(path, `must be an object such as {"eq": …}, not %s`, n.describe())
		return nil
	}
	group := All{implicit: true}
	var steps []Step
	ignoreCase := false
	for _, m := range n.members {
		at := join(path, m.name)
		_, quantifier := quantifiers[Quantifier(m.name)]
		operator, known := operators[Op(m.name)]
		switch {
		case m.name == "path":
			steps = p.steps(m.node, at)
		case m.name == "ignoreCase":
			flag, ok := m.node.value.(bool)
			if !ok {
				p.faults.add(at, "must be true or false")
			}
			ignoreCase = flag
		case quantifier:
			group.Conditions = append(group.Conditions, Related{
				Relation: name, Quantifier: Quantifier(m.name), Where: p.where(m.node, at, depth+1),
			})
		case known:
			operand := p.operand(m.node, at)
			p.arity(operator.takes, operand, at)
			group.Conditions = append(group.Conditions, Compare{Field: name, Op: Op(m.name), Operand: operand})
		default:
			p.faults.add(at, "unknown operator")
		}
	}
	if len(group.Conditions) == 0 {
		p.faults.add(path, "has no operator")
		return nil
	}
	for i, c := range group.Conditions {
		compare, ok := c.(Compare)
		if !ok {
			if steps != nil || ignoreCase {
				p.faults.add(path, "path and ignoreCase belong to fields, not to relations")
			}
			continue
		}
		compare.Path, compare.IgnoreCase = steps, ignoreCase
		group.Conditions[i] = compare
	}
	if len(group.Conditions) == 1 {
		return group.Conditions[0]
	}
	return group
}

func (p *parser) arity(t takes, o Operand, path string) {
	if problem := t.problem(o); problem != "" {
		p.faults.add(path, "%s", problem)
	}
}

// problem says what is wrong with the number of operands, or "".
func (t takes) problem(o Operand) string {
	param := !o.IsList && o.One.Param != ""
	switch t {
	case takesOne:
		if o.IsList {
			return "takes one value, not a list"
		}
	case takesList:
		if !o.IsList && !param {
			return "takes a list"
		}
	case takesPair:
		if !o.IsList || len(o.List) != 2 {
			return "takes a list of two values"
		}
	case takesFlag:
		if _, ok := o.One.Literal.(bool); o.IsList || !ok {
			return "takes true or false"
		}
	}
	return ""
}

func (p *parser) steps(n node, path string) []Step {
	var steps []Step
	for i, item := range p.list(n, path) {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch v := item.value.(type) {
		case string:
			steps = append(steps, Step{Key: v})
		case json.Number:
			index, err := strconv.Atoi(string(v))
			if err != nil {
				p.faults.add(at, "must be a key, or a position in a list from 0 on")
			}
			steps = append(steps, Step{Index: index, IsIndex: true})
		default:
			p.faults.add(at, "must be a key, or a position in a list from 0 on")
		}
	}
	return steps
}

// maxSteps and maxKey bound a path into a JSON value.
const (
	maxSteps = 8
	maxKey   = 128
)

// problem says why a step cannot be taken, or "". Databases disagree how a quote
// within a key is written, so keys that would need it cannot be named.
func (s Step) problem() string {
	switch {
	case s.IsIndex && (s.Index < 0 || s.Index > 100_000):
		return "a position in a list is from 0 to 100000"
	case s.IsIndex:
		return ""
	case s.Key == "" || len(s.Key) > maxKey:
		return fmt.Sprintf("a key has 1 to %d bytes", maxKey)
	case strings.ContainsFunc(s.Key, func(r rune) bool { return !keyRune(r) }):
		return "a key has letters, digits, spaces and _ - . : @ / only"
	}
	return ""
}

func keyRune(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return strings.ContainsRune(" _-.:@/", r)
}
