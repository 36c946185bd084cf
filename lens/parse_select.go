package lens

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/postledger/postledger/lens/catalogue"
)

// items reads a select: names of fields, and objects with one relation each,
// whose value is a select or an object with select, where, order and limit.
func (p *parser) items(n node, path string, depth int) []Item {
	if depth > MaxRelations {
		p.faults.add(path, "relations are nested more than %d deep", MaxRelations)
		return nil
	}
	nodes := p.list(n, path)
	if len(nodes) > MaxItems {
		p.faults.add(path, "has %d members, at most %d are allowed", len(nodes), MaxItems)
		return nil
	}
	items := make([]Item, 0, len(nodes))
	for i, item := range nodes {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item.is(object) {
			if len(item.members) != 1 || !catalogue.Name(item.members[0].name) {
				p.faults.add(at, `must be a name, or an object with one relation: {"orders": ["total"]}`)
				continue
			}
			m := item.members[0]
			items = append(items, Item{Relation: p.nested(m.name, m.node, join(at, m.name), depth)})
			continue
		}
		items = append(items, Item{Field: p.name(item, at)})
	}
	return items
}

func (p *parser) nested(name string, n node, path string, depth int) *Nested {
	nested := &Nested{Name: name}
	if n.is(list) {
		nested.Select = p.items(n, path, depth+1)
		return nested
	}
	if !n.is(object) {
		p.faults.add(path, "must be a list of fields, or an object with select, where, order and limit")
		return nested
	}
	for _, m := range n.members {
		at := join(path, m.name)
		switch m.name {
		case "select":
			nested.Select = p.items(m.node, at, depth+1)
		case "where":
			nested.Where = p.where(m.node, at, 0)
		case "order":
			nested.Order = p.order(m.node, at)
		case "limit":
			number, _ := m.node.value.(json.Number)
			limit, err := strconv.Atoi(string(number))
			if err != nil || limit < 1 || limit > MaxNestedLimit {
				p.faults.add(at, "must be a number from 1 to %d", MaxNestedLimit)
			}
			nested.Limit = limit
		default:
			p.faults.add(at, "unknown; a relation has select, where, order and limit")
		}
	}
	if !n.has("select") {
		p.faults.add(join(path, "select"), "missing")
	}
	return nested
}
