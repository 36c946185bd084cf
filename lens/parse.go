package lens

import (
	"encoding/json"
	"fmt"

	"github.com/postledger/postledger/lens/catalogue"
)

// ParseJSON reads a lens:
//
//	{"from": "users",
//	 "where": {"all": [{"country": {"eq": "NO"}}, {"orders": {"some": {"total": {"gte": "100"}}}}]},
//	 "select": ["email", {"organization": ["name"]}],
//	 "order": ["-created_at"],
//	 "params": {"since": {"kind": "timestamptz"}},
//	 "zone": "Europe/Oslo"}
//
// Whatever it does not know is an error that names its path.
func ParseJSON(text []byte) (Lens, error) { return parse(jsonTree(text)) }

// ParseYAML reads the same from YAML.
func ParseYAML(text []byte) (Lens, error) { return parse(yamlTree(text)) }

func parse(root node, err error) (Lens, error) {
	if err != nil {
		return Lens{}, err
	}
	p := &parser{}
	l := p.lens(root)
	if err := p.faults.err(); err != nil {
		return Lens{}, err
	}
	return l, nil
}

// UnmarshalJSON reads a lens as [ParseJSON] does.
func (l *Lens) UnmarshalJSON(text []byte) error {
	parsed, err := ParseJSON(text)
	if err == nil {
		*l = parsed
	}
	return err
}

type parser struct{ faults faults }

func (p *parser) lens(n node) Lens {
	var l Lens
	if !n.is(object) {
		p.faults.add("", "a lens is an object, not %s", n.describe())
		return l
	}
	for _, m := range n.members {
		switch m.name {
		case "from":
			l.From = p.name(m.node, m.name)
		case "where":
			l.Where = p.where(m.node, m.name, 0)
		case "select":
			l.Select = p.items(m.node, m.name, 0)
		case "order":
			l.Order = p.order(m.node, m.name)
		case "key":
			for i, item := range p.list(m.node, m.name) {
				l.Key = append(l.Key, p.name(item, fmt.Sprintf("key[%d]", i)))
			}
		case "params":
			l.Params = p.params(m.node)
		case "zone":
			l.Zone = p.text(m.node, m.name)
		default:
			p.faults.add(m.name, "unknown; a lens has from, where, select, order, key, params and zone")
		}
	}
	for _, name := range []string{"from", "where", "select"} {
		if !n.has(name) {
			p.faults.add(name, "missing%s", map[string]string{"where": `; every row is {"everyone": true}`}[name])
		}
	}
	return l
}

func (p *parser) list(n node, path string) []node {
	switch {
	case !n.is(list):
		p.faults.add(path, "must be a list, not %s", n.describe())
	case len(n.items) == 0:
		p.faults.add(path, "an empty list says nothing; leave it out")
	}
	return n.items
}

func (p *parser) text(n node, path string) string {
	text, ok := n.value.(string)
	if !ok || text == "" {
		p.faults.add(path, "must be text and not empty")
	}
	return text
}

// name reads a name. What cannot be one is not even looked up.
func (p *parser) name(n node, path string) string {
	text, ok := n.value.(string)
	if !ok || !catalogue.Name(text) {
		p.faults.add(path, "must be a name: letters, digits and _")
		return ""
	}
	return text
}

func (p *parser) order(n node, path string) []Order {
	var order []Order
	for i, item := range p.list(n, path) {
		at := fmt.Sprintf("%s[%d]", path, i)
		text, _ := item.value.(string)
		desc := len(text) > 0 && text[0] == '-'
		if desc {
			item.value = text[1:]
		}
		order = append(order, Order{Field: p.name(item, at), Desc: desc})
	}
	return order
}

func (p *parser) params(n node) map[string]Param {
	if !n.is(object) || len(n.members) == 0 {
		p.faults.add("params", "must be an object with a member for each parameter")
		return nil
	}
	params := map[string]Param{}
	for _, m := range n.members {
		path := join("params", m.name)
		if !catalogue.Name(m.name) {
			p.faults.add(path, "must be a name: letters, digits and _")
			continue
		}
		if !m.node.is(object) {
			p.faults.add(path, "must be an object with kind, list and default")
			continue
		}
		params[m.name] = p.param(m.node, path)
	}
	return params
}

func (p *parser) param(n node, path string) Param {
	var param Param
	for _, m := range n.members {
		at := join(path, m.name)
		switch m.name {
		case "kind":
			param.Kind = catalogue.Kind(p.text(m.node, at))
		case "list":
			flag, ok := m.node.value.(bool)
			if !ok {
				p.faults.add(at, "must be true or false")
			}
			param.List = flag
		case "default":
			operand := p.operand(m.node, at)
			for _, v := range append([]Value{operand.One}, operand.List...) {
				if v.Param != "" {
					p.faults.add(at, "must be a value")
				}
			}
			param.Default = &operand
		default:
			p.faults.add(at, "unknown; a parameter has kind, list and default")
		}
	}
	return param
}

// operand reads a value, {"param": …}, or a list of these.
func (p *parser) operand(n node, path string) Operand {
	if !n.is(list) {
		return Operand{One: p.value(n, path)}
	}
	if len(n.items) > MaxList {
		p.faults.add(path, "has %d values, at most %d are allowed", len(n.items), MaxList)
		return Operand{IsList: true}
	}
	o := Operand{IsList: true, List: make([]Value, len(n.items))}
	for i, item := range n.items {
		o.List[i] = p.value(item, fmt.Sprintf("%s[%d]", path, i))
	}
	return o
}

func (p *parser) value(n node, path string) Value {
	if n.is(object) {
		if len(n.members) != 1 || n.members[0].name != "param" {
			p.faults.add(path, `must be a value or {"param": "name"}`)
			return Value{}
		}
		return Value{Param: p.name(n.members[0].node, join(path, "param"))}
	}
	switch n.value.(type) {
	case string, bool, json.Number:
		return Value{Literal: n.value}
	}
	p.faults.add(path, "must be a value, not %s%s", n.describe(), map[bool]string{true: "; isNull tests for null"}[n.null()])
	return Value{}
}
