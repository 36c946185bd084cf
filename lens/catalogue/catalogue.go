package catalogue

import (
	"cmp"
	"maps"
	"slices"
)

// Catalogue is what lenses are checked against. It does not change once built.
type Catalogue struct {
	Dialect Dialect
	// Notes say what was left out and why, for whoever writes the model.
	Notes []string

	tables map[string]*Table
}

// Table is a table or view as lenses see it.
type Table struct {
	// Name is what lenses call it; Schema and SQLName are the database's.
	Name, Schema, SQLName string
	View                  bool
	// Keys are the unique keys whose columns are never null, the primary key
	// first. They hold the names of columns.
	Keys [][]string
	// Rows is the database's estimate at introspection, or -1.
	Rows int64

	columns   []*Column
	byName    map[string]*Column
	bySQLName map[string]*Column
	relations map[string]*Relation
}

// Column is a column as lenses see it.
type Column struct {
	Name, SQLName string
	Kind          Kind
	Type          string
	Nullable      bool
	// Hidden columns exist but cannot be read; Why says which rule hid it.
	Hidden bool
	Why    string
	Details
}

// Table returns the table of a name.
func (c *Catalogue) Table(name string) (*Table, bool) {
	t, ok := c.tables[name]
	return t, ok
}

// Tables returns all tables that are not hidden, by name.
func (c *Catalogue) Tables() []*Table {
	return slices.SortedFunc(maps.Values(c.tables), func(a, b *Table) int { return cmp.Compare(a.Name, b.Name) })
}

// Column returns the column of a name, hidden or not: who asks must look.
func (t *Table) Column(name string) (*Column, bool) {
	c, ok := t.byName[name]
	return c, ok
}

// Columns returns all columns in the table's order, hidden ones too.
func (t *Table) Columns() []*Column { return slices.Clone(t.columns) }

// Relation returns the relation of a name.
func (t *Table) Relation(name string) (*Relation, bool) {
	r, ok := t.relations[name]
	return r, ok
}

// Relations returns all relations, by name.
func (t *Table) Relations() []*Relation {
	return slices.SortedFunc(maps.Values(t.relations), func(a, b *Relation) int { return cmp.Compare(a.Name, b.Name) })
}

// Unique tells whether columns include a unique key without nulls.
func (t *Table) Unique(columns []string) bool {
	return slices.ContainsFunc(t.Keys, func(key []string) bool {
		return !slices.ContainsFunc(key, func(name string) bool { return !slices.Contains(columns, name) })
	})
}
