package lens

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// Matches evaluates the where, with the scope's floors, against one row in
// memory. It says what the database says of the same row. A field or a relation
// that the where asks for and the row does not hold is an error, not a no:
// [Query.Needs] lists them. Of a relation through a third table the rows are
// taken as the ones that the scope admits.
func (q *Query) Matches(row Row) (bool, error) { return evaluate(q.where, row, q.table.Name) }

func evaluate(c bound, row Row, path string) (bool, error) {
	switch c := c.(type) {
	case boundConst:
		return bool(c), nil
	case boundAll:
		return fold(c, row, path, true)
	case boundAny:
		return fold(c, row, path, false)
	case boundNot:
		yes, err := evaluate(c.inner, row, path)
		return !yes && err == nil, err
	case boundCompare:
		return evaluateCompare(c, row, path)
	case boundRelated:
		return evaluateRelated(c, row, path)
	}
	panic("lens: a condition that nobody evaluates")
}

// fold evaluates all members even when the first decides: whether a row lacks
// something must not depend on its values.
func fold(conditions []bound, row Row, path string, all bool) (bool, error) {
	result := all
	for _, inner := range conditions {
		yes, err := evaluate(inner, row, path)
		if err != nil {
			return false, err
		}
		if all {
			result = result && yes
		} else {
			result = result || yes
		}
	}
	return result, nil
}

func evaluateRelated(c boundRelated, row Row, path string) (bool, error) {
	path = join(path, c.relation.Name)
	value, held := row[c.relation.Name]
	if !held {
		return false, &Fault{Path: path, Problem: "the row does not hold it"}
	}
	rows, ok := relatedRows(value, c.relation.Many)
	if !ok {
		return false, &Fault{Path: path, Problem: fmt.Sprintf("holds %T, not related rows", value)}
	}
	var some, every bool
	every = true
	for _, related := range rows {
		if floor := c.floors[len(c.floors)-1]; floor != nil {
			admitted, err := evaluate(floor, related, path)
			if err != nil {
				return false, err
			}
			if !admitted {
				continue
			}
		}
		yes, err := evaluate(c.where, related, path)
		if err != nil {
			return false, err
		}
		some, every = some || yes, every && yes
	}
	switch c.quantifier {
	case Some, Is:
		return some, nil
	case None, IsNot:
		return !some, nil
	}
	return every, nil
}

func relatedRows(value any, many bool) ([]Row, bool) {
	switch v := value.(type) {
	case nil:
		return nil, !many
	case Row:
		if v == nil {
			return nil, !many
		}
		return []Row{v}, !many
	case []Row:
		return v, many
	}
	return nil, false
}

func evaluateCompare(c boundCompare, row Row, path string) (bool, error) {
	path = join(path, c.column.Name)
	raw, held := row[c.column.Name]
	if !held {
		return false, &Fault{Path: path, Problem: "the row does not hold it"}
	}
	if c.column.Kind == catalogue.Array {
		return evaluateArray(c, raw, path)
	}
	var value any
	var err error
	if c.column.Kind == catalogue.JSON {
		if value = jsonAt(raw, c.path); c.op != IsNull {
			value = jsonAs(value, jsonSortOf(c.values[0]))
		}
	} else if value, err = comparableOf(c.column.Kind, c.column.Details, raw); err != nil {
		return false, &Fault{Path: path, Problem: err.Error()}
	}
	if c.op == IsNull {
		return (value == nil) == c.flag, nil
	}
	yes := value != nil && holds(c, value)
	return yes != (c.op == Ne || c.op == NotIn), nil
}

// holds applies an operator, or the one it negates, to a value that is not null.
func holds(c boundCompare, value any) bool {
	text := func(v any) string {
		if c.ignoreCase {
			return foldText(v.(string))
		}
		return v.(string)
	}
	if c.ignoreCase {
		value = foldText(value.(string))
	}
	equals := func(other any) bool {
		if c.ignoreCase {
			other = foldText(other.(string))
		}
		return compareValues(value, other) == 0
	}
	switch c.op {
	case Eq, Ne, In, NotIn:
		return slices.ContainsFunc(c.values, equals)
	case Lt:
		return compareValues(value, c.values[0]) < 0
	case Lte:
		return compareValues(value, c.values[0]) <= 0
	case Gt:
		return compareValues(value, c.values[0]) > 0
	case Gte:
		return compareValues(value, c.values[0]) >= 0
	case Between:
		return compareValues(value, c.values[0]) >= 0 && compareValues(value, c.values[1]) <= 0
	case Contains:
		return strings.Contains(text(value), text(c.values[0]))
	case StartsWith:
		return strings.HasPrefix(text(value), text(c.values[0]))
	case EndsWith:
		return strings.HasSuffix(text(value), text(c.values[0]))
	}
	panic("lens: an operator that nobody evaluates")
}

func evaluateArray(c boundCompare, raw any, path string) (bool, error) {
	if raw == nil {
		return c.op == IsNull && c.flag, nil
	}
	list, ok := raw.([]any)
	if !ok {
		return false, &Fault{Path: path, Problem: fmt.Sprintf("holds %T, not a list", raw)}
	}
	elements := make([]any, len(list))
	for i, v := range list {
		element, err := comparableOf(c.column.Element, catalogue.Details{}, v)
		if err != nil {
			return false, &Fault{Path: fmt.Sprintf("%s[%d]", path, i), Problem: err.Error()}
		}
		elements[i] = element
	}
	held := func(v any) bool {
		return slices.ContainsFunc(elements, func(e any) bool { return e != nil && compareValues(e, v) == 0 })
	}
	switch c.op {
	case IsNull:
		return !c.flag, nil
	case IsEmpty:
		return (len(elements) == 0) == c.flag, nil
	case HasSome:
		return slices.ContainsFunc(c.values, held), nil
	}
	return !slices.ContainsFunc(c.values, func(v any) bool { return !held(v) }), nil
}
