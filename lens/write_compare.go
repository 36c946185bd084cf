package lens

import (
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// compare writes one comparison.
func (w *writer) compare(c boundCompare, alias string) string {
	ref := w.ref(alias, c.column)
	switch {
	case c.op == IsNull:
		return w.isNull(c, ref)
	case c.column.Kind == catalogue.Array:
		return w.dialect.array(w, c, ref)
	}
	goal := target{kind: c.column.Kind, details: c.column.Details}
	exact := c.op == Eq || c.op == Ne || c.op == In || c.op == NotIn || c.op == Contains || c.op == StartsWith || c.op == EndsWith
	var operand func() string
	fits, narrow := "", ""
	if len(c.path) > 0 {
		goal.json = true
		sort := jsonSortOf(c.values[0])
		operand = func() string { return w.dialect.json(w, c.column, ref, c.path, sort) }
	} else {
		var expr string
		expr, fits = w.dialect.operand(c.column, ref, exact)
		operand = func() string { return expr }
		if !c.ignoreCase {
			narrow = w.dialect.narrow(w, c, ref)
		}
	}
	if c.ignoreCase {
		plain := operand
		operand = func() string { return w.dialect.fold(plain()) }
		for i, v := range c.values {
			if i == 0 {
				c.values = append([]any(nil), c.values...) // the query's own must not change
			}
			c.values[i] = foldText(v.(string))
		}
	}
	value := func(i int) string {
		goal.round = roundingOf(c.op, i)
		return w.dialect.value(w, goal, c.values[i])
	}
	written := w.operator(c, operand, value)
	if narrow != "" {
		written = narrow + " AND " + written
	}
	if fits != "" {
		written = written + " AND " + fits
	}
	if c.op == Ne || c.op == NotIn {
		return "(" + written + ") IS NOT TRUE"
	}
	return written
}

// operator writes the comparison that an operator, or the one it negates, is.
func (w *writer) operator(c boundCompare, operand func() string, value func(int) string) string {
	switch c.op {
	case In, NotIn:
		list := operand() + " IN ("
		values := make([]string, len(c.values))
		for i := range c.values {
			values[i] = value(i)
		}
		return list + strings.Join(values, ", ") + ")"
	case Between:
		return operand() + " >= " + value(0) + " AND " + operand() + " <= " + value(1)
	case Contains, StartsWith, EndsWith:
		return w.dialect.match(w, c.op, operand(), c.values[0].(string))
	}
	signs := map[Op]string{Eq: " = ", Ne: " = ", Lt: " < ", Lte: " <= ", Gt: " > ", Gte: " >= "}
	return operand() + signs[c.op] + value(0)
}

func (w *writer) isNull(c boundCompare, ref string) string {
	var present string
	if c.column.Kind == catalogue.JSON {
		present = w.dialect.json(w, c.column, ref, c.path, jsonAny) + " IS NOT NULL"
	} else {
		expr, fits := w.dialect.operand(c.column, ref, true)
		present = expr + " IS NOT NULL"
		if fits != "" {
			present += " AND " + fits
		}
	}
	if c.flag {
		return "(" + present + ") IS NOT TRUE"
	}
	return present
}

// foldText makes A to Z lower case and leaves the rest, as every dialect does.
func foldText(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// jsonPath writes a path as MySQL and SQLite read it, and PostgreSQL too. The
// keys hold nothing that would need an escape.
func jsonPath(path []Step) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, step := range path {
		if step.IsIndex {
			b.WriteString("[" + itoa(step.Index) + "]")
		} else {
			b.WriteString(`."` + step.Key + `"`)
		}
	}
	return b.String()
}
