package lens

import (
	"encoding/json"
	"fmt"
)

// MarshalJSON writes a lens so that [ParseJSON] reads the same one.
func (l Lens) MarshalJSON() ([]byte, error) {
	where, err := encodeWhere(l.Where)
	if err != nil {
		return nil, fmt.Errorf("write a lens: %w", err)
	}
	selected, err := encodeItems(l.Select)
	if err != nil {
		return nil, fmt.Errorf("write a lens: %w", err)
	}
	out := map[string]any{"from": l.From, "where": where, "select": selected}
	if len(l.Order) > 0 {
		out["order"] = encodeOrder(l.Order)
	}
	if len(l.Key) > 0 {
		out["key"] = l.Key
	}
	if len(l.Params) > 0 {
		params := map[string]any{}
		for name, p := range l.Params {
			param := map[string]any{"kind": p.Kind}
			if p.List {
				param["list"] = true
			}
			if p.Default != nil {
				param["default"] = encodeOperand(*p.Default)
			}
			params[name] = param
		}
		out["params"] = params
	}
	if l.Zone != "" {
		out["zone"] = l.Zone
	}
	return json.Marshal(out)
}

// encodeWhere writes a condition. Groups of several keys become all.
func encodeWhere(c Condition) (any, error) {
	many := func(name string, conditions []Condition) (any, error) {
		list := make([]any, len(conditions))
		for i, inner := range conditions {
			encoded, err := encodeWhere(inner)
			if err != nil {
				return nil, err
			}
			list[i] = encoded
		}
		return map[string]any{name: list}, nil
	}
	switch c := c.(type) {
	case Everyone:
		return map[string]any{"everyone": true}, nil
	case All:
		return many("all", c.Conditions)
	case Any:
		return many("any", c.Conditions)
	case Not:
		inner, err := encodeWhere(c.Condition)
		return map[string]any{"not": inner}, err
	case Related:
		inner, err := encodeWhere(c.Where)
		return map[string]any{c.Relation: map[string]any{string(c.Quantifier): inner}}, err
	case Compare:
		leaf := map[string]any{string(c.Op): encodeOperand(c.Operand)}
		if c.IgnoreCase {
			leaf["ignoreCase"] = true
		}
		if len(c.Path) > 0 {
			steps := make([]any, len(c.Path))
			for i, step := range c.Path {
				if steps[i] = step.Key; step.IsIndex {
					steps[i] = step.Index
				}
			}
			leaf["path"] = steps
		}
		return map[string]any{c.Field: leaf}, nil
	}
	return nil, &Fault{Path: "where", Problem: "missing"}
}

func encodeItems(items []Item) ([]any, error) {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = item.Field
		if item.Relation == nil {
			continue
		}
		n := item.Relation
		selected, err := encodeItems(n.Select)
		if err != nil {
			return nil, err
		}
		out := map[string]any{"select": selected}
		if n.Where != nil {
			if out["where"], err = encodeWhere(n.Where); err != nil {
				return nil, err
			}
		}
		if len(n.Order) > 0 {
			out["order"] = encodeOrder(n.Order)
		}
		if n.Limit > 0 {
			out["limit"] = n.Limit
		}
		list[i] = map[string]any{n.Name: out}
	}
	return list, nil
}

func encodeOrder(order []Order) []string {
	list := make([]string, len(order))
	for i, o := range order {
		if list[i] = o.Field; o.Desc {
			list[i] = "-" + o.Field
		}
	}
	return list
}

func encodeOperand(o Operand) any {
	if !o.IsList {
		return encodeValue(o.One)
	}
	list := make([]any, len(o.List))
	for i, v := range o.List {
		list[i] = encodeValue(v)
	}
	return list
}

func encodeValue(v Value) any {
	if v.Param != "" {
		return map[string]any{"param": v.Param}
	}
	return v.Literal
}
