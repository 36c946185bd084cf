package lens

import (
	"fmt"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// writer builds one statement. Its methods return SQL and bind values as they
// go: two of the databases match values to question marks by order, so a caller
// puts the pieces together in the order in which it asked for them, each once.
type writer struct {
	dialect dialect
	speaks  catalogue.Dialect
	args    []any
	aliases int
	// tables are what the aliases stand for.
	tables map[string]*catalogue.Table
}

func newWriter(d catalogue.Dialect) *writer {
	return &writer{dialect: dialects[d], speaks: d, tables: map[string]*catalogue.Table{}}
}

// dialects are the ways of saying the same thing.
var dialects = map[catalogue.Dialect]dialect{
	catalogue.PostgreSQL: postgresDialect{}, catalogue.MySQL: mysqlDialect{}, catalogue.SQLite: sqliteDialect{},
}

// dialect is what the three databases say differently. ref is a column with its
// table's alias, quoted.
type dialect interface {
	placeholder(n int) string
	// operand is a column as it is compared. fits is a condition that its value
	// is one of its kind, or "": what fits none reads as null. exact says that
	// only equality is asked for, which more indexes can serve.
	operand(c *catalogue.Column, ref string, exact bool) (expr, fits string)
	// value binds a value that is compared with a column of a kind.
	value(w *writer, c target, v any) string
	// narrow is a condition that an index serves and that every row of an
	// equality satisfies, or "".
	narrow(w *writer, c boundCompare, ref string) string
	// fold makes A to Z lower case and leaves the rest.
	fold(expr string) string
	// match tests text for containing, starting or ending with text, literally.
	match(w *writer, op Op, expr, text string) string
	// json is the value at a path, as text, float64 or truth value, or null.
	json(w *writer, c *catalogue.Column, ref string, path []Step, sort jsonSort) string
	// array tests an array.
	array(w *writer, c boundCompare, ref string) string
	// read is a column as it is selected; decode understands it.
	read(c *catalogue.Column, ref string) string
	// raw is a column's value as the database has it, and bindRaw that value bound
	// again: what keys and relations are followed by.
	raw(c *catalogue.Column, ref string) string
	bindRaw(w *writer, c *catalogue.Column, v any) string
}

// jsonSort is what a value within JSON is read as. jsonAny is only for being
// there: JSON's null is null.
type jsonSort int

const (
	jsonAny jsonSort = iota
	jsonText
	jsonNumber
	jsonBool
)

func jsonSortOf(v any) jsonSort {
	switch v.(type) {
	case string:
		return jsonText
	case float64:
		return jsonNumber
	}
	return jsonBool
}

func (w *writer) bind(v any) string {
	w.args = append(w.args, v)
	return w.dialect.placeholder(len(w.args))
}

// alias returns a new name for a table within the statement.
func (w *writer) alias() string {
	w.aliases++
	return fmt.Sprintf("t%d", w.aliases-1)
}

func (w *writer) ref(alias string, c *catalogue.Column) string {
	return alias + "." + w.speaks.Quote(c.SQLName)
}

func (w *writer) table(t *catalogue.Table, alias string) string {
	w.tables[alias] = t
	return w.speaks.Quoted(t.Schema, t.SQLName) + " AS " + alias
}

// where writes a condition on the rows of an alias. Its value may be null where
// it means false; and and or keep that right, and everything that negates asks
// for IS NOT TRUE.
func (w *writer) where(c bound, alias string) string {
	switch c := c.(type) {
	case boundConst:
		if c {
			return "1 = 1"
		}
		return "1 = 0"
	case boundAll:
		return w.joined(c, alias, " AND ", "1 = 1")
	case boundAny:
		return w.joined(c, alias, " OR ", "1 = 0")
	case boundNot:
		return "(" + w.where(c.inner, alias) + ") IS NOT TRUE"
	case boundCompare:
		return w.compare(c, alias)
	case boundRelated:
		return w.related(c, alias)
	}
	panic("lens: a condition that nobody writes")
}

func (w *writer) joined(conditions []bound, alias, word, none string) string {
	if len(conditions) == 0 {
		return none
	}
	parts := make([]string, len(conditions))
	for i, inner := range conditions {
		parts[i] = "(" + w.where(inner, alias) + ")"
	}
	return strings.Join(parts, word)
}

func (w *writer) related(c boundRelated, alias string) string {
	where := c.where
	if c.quantifier == Every {
		where = boundNot{where} // no row for which it does not hold
	}
	from, joined, last := w.hops(c.relation, c.floors, alias)
	exists := "EXISTS (SELECT 1 FROM " + from + " WHERE " + joined + " AND (" + w.where(where, last) + "))"
	if c.quantifier == Some || c.quantifier == Is {
		return exists
	}
	return "NOT " + exists
}

// hops writes the tables of a relation, how they join the rows of alias, and the
// floors of each. It returns the alias of the last table.
func (w *writer) hops(r *catalogue.Relation, floors []bound, alias string) (from, where, last string) {
	return w.hopsFrom(r, floors, alias, nil)
}

// hopsFrom is hops where the first row is not there, and given has its values in
// the order of the first hop's pairs: whoever gives them has looked at what the
// first hop fixes in it.
func (w *writer) hopsFrom(r *catalogue.Relation, floors []bound, alias string, given func(pair int) string) (from, where, last string) {
	var tables, conditions []string
	last = alias
	for i, hop := range r.Hops {
		next := w.alias()
		tables = append(tables, w.table(hop.Table, next))
		for j, pair := range hop.Pairs {
			left := ""
			if i == 0 && given != nil {
				left = w.sameAs(pair.Right, given(j))
			} else {
				left = w.ref(last, pair.Left)
			}
			conditions = append(conditions, w.ref(next, pair.Right)+" = "+left)
		}
		for _, fixed := range hop.Fixed {
			on := next
			if fixed.Left {
				if i == 0 && given != nil {
					continue
				}
				on = last
			}
			equal := boundCompare{column: fixed.Column, op: Eq, values: []any{fixed.Value}}
			conditions = append(conditions, "("+w.compare(equal, on)+")")
		}
		if i < len(floors) && floors[i] != nil {
			conditions = append(conditions, "("+w.where(floors[i], next)+")")
		}
		last = next
	}
	return strings.Join(tables, ", "), strings.Join(conditions, " AND "), last
}
