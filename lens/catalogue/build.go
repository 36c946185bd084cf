package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reserved are words that have a meaning of their own where a lens names fields.
var reserved = []string{"all", "any", "not", "everyone"}

// Build makes the catalogue of a schema. Everything the model says must be
// about something that exists; all its faults come in one error.
func Build(schema Schema, model Model) (*Catalogue, error) {
	b := &builder{
		catalogue: &Catalogue{Dialect: schema.Dialect, tables: map[string]*Table{}},
		schema:    schema, model: model, bySQLName: map[string]*Table{},
	}
	b.addTables()
	b.addForeignKeys()
	b.addDeclared()
	slices.Sort(b.catalogue.Notes)
	if len(b.faults) > 0 {
		return nil, errors.Join(b.faults...)
	}
	return b.catalogue, nil
}

type builder struct {
	catalogue *Catalogue
	schema    Schema
	model     Model
	// bySQLName finds a table that is not hidden by the name the model uses.
	bySQLName map[string]*Table
	faults    []error
}

func (b *builder) fault(path, format string, args ...any) {
	b.faults = append(b.faults, fmt.Errorf("model: %s: %s", path, fmt.Sprintf(format, args...)))
}

func (b *builder) note(format string, args ...any) {
	b.catalogue.Notes = append(b.catalogue.Notes, fmt.Sprintf(format, args...))
}

// modelName is how the model file names a table.
func (b *builder) modelName(schema, table string) string {
	if schema == b.schema.Default || schema == "" {
		return table
	}
	return schema + "." + table
}

// addTables makes the tables with their columns and keys.
func (b *builder) addTables() {
	known, called := map[string]bool{}, b.called()
	for _, found := range b.schema.Tables {
		sqlName := b.modelName(found.Schema, found.Name)
		known[sqlName] = true
		said := b.model.Tables[sqlName]
		path := "tables." + sqlName
		if said.Hide {
			continue
		}
		name := b.nameOf(sqlName)
		switch {
		case !Name(name) && said.Name != "":
			b.fault(path+".name", "%q is not a name: letters, digits and _ only, no digit first", name)
			continue
		case !Name(name):
			b.note("table %s is left out: a lens cannot name it; give it a name in the model", sqlName)
			continue
		case called[name] > 1 && said.Name != "":
			b.fault(path+".name", "another table is called %s", name)
			continue
		case b.catalogue.tables[name] != nil:
			b.note("table %s is left out: another table is called %s; give it a name in the model", sqlName, name)
			continue
		}
		t := &Table{
			Name: name, Schema: found.Schema, SQLName: found.Name, View: found.View, Rows: found.Rows,
			byName: map[string]*Column{}, bySQLName: map[string]*Column{}, relations: map[string]*Relation{},
		}
		b.addColumns(t, found, said, path)
		b.addKeys(t, found, said, path)
		b.catalogue.tables[name] = t
		b.bySQLName[sqlName] = t
	}
	for _, name := range slices.Sorted(maps.Keys(b.model.Tables)) {
		if !known[name] {
			b.fault("tables."+name, "the database has no such table")
		}
	}
}

// nameOf is what lenses call a table.
func (b *builder) nameOf(sqlName string) string {
	return cmp.Or(b.model.Tables[sqlName].Name, strings.ReplaceAll(sqlName, ".", "_"))
}

// called counts the tables of each name.
func (b *builder) called() map[string]int {
	called := map[string]int{}
	for _, t := range b.schema.Tables {
		if sqlName := b.modelName(t.Schema, t.Name); !b.model.Tables[sqlName].Hide {
			called[b.nameOf(sqlName)]++
		}
	}
	return called
}

// addColumns makes a table's columns. A column that no lens can name keeps its
// SQL name, and is hidden.
func (b *builder) addColumns(t *Table, found SchemaTable, said ModelTable, path string) {
	exempt := keyColumns(found)
	known := map[string]bool{}
	for _, column := range found.Columns {
		known[column.Name] = true
		say := said.Columns[column.Name]
		at := path + ".columns." + column.Name
		c := &Column{
			Name: cmp.Or(say.Name, column.Name), SQLName: column.Name, Kind: column.Kind, Type: column.Type,
			Nullable: column.Nullable, Details: column.Details,
		}
		if say.Encoding != "" {
			b.encode(c, say, at)
		} else {
			b.narrow(c, say.Kind, at)
		}
		word, secret := Secret(column.Name)
		switch {
		case say.Hide && say.Allow:
			b.fault(at, "it cannot be both hidden and allowed")
		case say.Hide:
			c.Hidden, c.Why = true, "the model hides it"
		case secret && !exempt[column.Name] && !say.Allow:
			c.Hidden, c.Why = true, fmt.Sprintf("its name says %q; allow it in the model if it is no secret", word)
		}
		t.columns = append(t.columns, c)
		t.bySQLName[column.Name] = c
		switch {
		case !Name(c.Name) && say.Name != "":
			b.fault(at+".name", "%q is not a name: letters, digits and _ only, no digit first, and not %s", c.Name, strings.Join(reserved, ", "))
		case t.byName[c.Name] != nil:
			b.fault(at+".name", "another column is called %s", c.Name)
		case !Name(c.Name):
			b.note("column %s.%s is hidden: a lens cannot name it; give it a name in the model", found.Name, c.Name)
			c.Hidden, c.Why = true, "a lens cannot name it"
		}
		t.byName[c.Name] = c
	}
	for _, name := range slices.Sorted(maps.Keys(said.Columns)) {
		if !known[name] {
			b.fault(path+".columns."+name, "the table has no such column")
		}
	}
}

// narrow gives a column the kind of the model, where the database's says less.
func (b *builder) narrow(c *Column, kind Kind, path string) {
	switch {
	case kind == "" || kind == c.Kind:
	case !kind.Known():
		b.fault(path+".kind", "%q is not a kind", kind)
	case kind == Array, kind == Enum, kind == Unsupported:
		b.fault(path+".kind", "a column cannot be declared %s", kind)
	case b.schema.Dialect == SQLite:
		// Its columns hold what they like; values of another kind read as null.
		c.Kind = kind
	case kind == Bool && (c.Kind == Int || c.Kind == BigInt):
		c.Kind = kind
	default:
		b.fault(path+".kind", "a column of type %s (%s) cannot be read as %s", c.Type, c.Kind, kind)
	}
}

// addKeys keeps the unique keys that no null can get around.
func (b *builder) addKeys(t *Table, found SchemaTable, said ModelTable, path string) {
	never := map[string]bool{}
	for _, c := range found.Columns {
		never[c.Name] = !c.Nullable
	}
	add := func(names []string) {
		var key []string
		for _, name := range names {
			if c := t.bySQLName[name]; c != nil && never[name] {
				key = append(key, c.Name)
			}
		}
		if len(key) == len(names) && len(key) > 0 {
			t.Keys = append(t.Keys, key)
		}
	}
	add(found.Primary)
	if len(said.Key) == 0 {
		for _, doubt := range found.Doubts {
			b.note("table %s: %s", b.modelName(found.Schema, found.Name), doubt)
		}
	}
	for _, names := range found.Unique {
		add(names)
	}
	for i, name := range said.Key {
		if t.bySQLName[name] == nil {
			b.fault(fmt.Sprintf("%s.key[%d]", path, i), "the table has no column %q", name)
			return
		}
		never[name] = true
	}
	add(said.Key)
}

// keyColumns are the columns of primary and foreign keys, which join tables and
// are no secrets whatever they are called.
func keyColumns(t SchemaTable) map[string]bool {
	columns := map[string]bool{}
	for _, name := range t.Primary {
		columns[name] = true
	}
	for _, key := range t.ForeignKeys {
		for _, name := range key.Columns {
			columns[name] = true
		}
	}
	return columns
}

// Name tells whether a lens can name a table, column or relation so.
func Name(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 128 && !slices.Contains(reserved, name)
}
