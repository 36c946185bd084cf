package lens

import (
	"fmt"
	"strings"
)

// Only gives the same rows with less of each: the fields that the paths name, such
// as "email" or "organization.name", which the select must have. It widens nothing,
// and suits a pass that looks at one field of many rows.
func (q *Query) Only(paths ...string) (*Query, error) {
	out := *q
	out.shape = nil
	for _, path := range paths {
		part, err := q.shape.only(path, path)
		if err != nil {
			return nil, err
		}
		out.shape = out.shape.join(part)
	}
	if len(out.shape) == 0 {
		return nil, &Fault{Problem: "names no field"}
	}
	return &out, nil
}

func (s shape) only(path, whole string) (shapeItem, error) {
	name, rest, deeper := strings.Cut(path, ".")
	for _, item := range s {
		switch {
		case item.name() != name:
		case !deeper && item.column != nil:
			return item, nil
		case deeper && item.nested != nil:
			inner, err := item.nested.shape.only(rest, whole)
			if err != nil {
				return shapeItem{}, err
			}
			n := *item.nested
			n.shape = shape{inner}
			return shapeItem{nested: &n}, nil
		}
	}
	return shapeItem{}, &Fault{Path: whole, Problem: fmt.Sprintf("the lens does not select the field %q", name)}
}

// join adds an item; what is of one relation stays one.
func (s shape) join(item shapeItem) shape {
	for i, have := range s {
		if have.name() != item.name() {
			continue
		}
		if item.nested != nil {
			n := *have.nested
			for _, inner := range item.nested.shape {
				n.shape = n.shape.join(inner)
			}
			s[i] = shapeItem{nested: &n}
		}
		return s
	}
	return append(s, item)
}
