package source

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/postledger/postledger/lens/catalogue"
)

// mostFacts bounds what introspection reads of one sort: 10,000 tables of 100
// columns.
const mostFacts = 1_000_000

// Catalogue reads the schema and builds the catalogue under a model.
func (s *Source) Catalogue(ctx context.Context, model catalogue.Model) (*catalogue.Catalogue, error) {
	schema, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	return catalogue.Build(schema, model)
}

// Schema reads the tables and views that the login may read.
func (s *Source) Schema(ctx context.Context) (catalogue.Schema, error) {
	f := &facts{source: s, schema: catalogue.Schema{Dialect: s.dialect}, index: map[[2]string]int{}}
	var err error
	switch s.dialect {
	case catalogue.PostgreSQL:
		err = f.postgres(ctx)
	case catalogue.MySQL:
		err = f.mysql(ctx)
	case catalogue.SQLite:
		err = f.sqlite(ctx)
	}
	if err != nil {
		return catalogue.Schema{}, fmt.Errorf("read the schema: %w", err)
	}
	return f.schema, nil
}

// facts gathers a schema. Queries give their rows in the order in which they
// are to be kept.
type facts struct {
	source *Source
	schema catalogue.Schema
	index  map[[2]string]int
}

func (f *facts) read(ctx context.Context, query string, args []any, each Each) error {
	return f.source.read(ctx, mostFacts, query, args, each)
}

func (f *facts) add(t catalogue.SchemaTable) {
	f.index[[2]string{t.Schema, t.Name}] = len(f.schema.Tables)
	f.schema.Tables = append(f.schema.Tables, t)
}

// table returns a table that was found, or nil: keys of what cannot be read.
func (f *facts) table(schema, name string) *catalogue.SchemaTable {
	i, found := f.index[[2]string{schema, name}]
	if !found {
		return nil
	}
	return &f.schema.Tables[i]
}

// readKeys reads unique keys by a question that gives the columns of keyRow.
func (f *facts) readKeys(ctx context.Context, query string, args []any) (keys []keyRow, err error) {
	err = f.read(ctx, query, args, func(scan func(...any) error) error {
		var k keyRow
		err := scan(&k.schema, &k.table, &k.key, &k.primary, &k.column, &k.doubt)
		keys = append(keys, k)
		return err
	})
	return keys, err
}

// relate reads the unique keys and the foreign keys of the tables that were found.
// Both questions give the same columns in every dialect, those of keyRow and
// foreignRow.
func (f *facts) relate(ctx context.Context, keyQuery, foreignQuery string, args []any) error {
	keys, err := f.readKeys(ctx, keyQuery, args)
	if err != nil {
		return err
	}
	f.keys(keys)
	return f.readForeign(ctx, foreignQuery, args)
}

func (f *facts) readForeign(ctx context.Context, query string, args []any) error {
	var foreign []foreignRow
	err := f.read(ctx, query, args, func(scan func(...any) error) error {
		var k foreignRow
		err := scan(&k.schema, &k.table, &k.key, &k.column, &k.toSchema, &k.toTable, &k.to)
		foreign = append(foreign, k)
		return err
	})
	f.foreignKeys(foreign)
	return err
}

// keyRow is one column of one unique key.
type keyRow struct {
	schema, table, key string
	primary            bool
	column             sql.NullString
	// doubt says why equal values of the column may stand in the index more than once,
	// or is "".
	doubt string
}

// keys groups rows that come key by key. A key with a column that is no column
// (an expression, a prefix) is no key, and neither is one with a doubt: paging by it would
// leave rows out.
func (f *facts) keys(rows []keyRow) {
	for len(rows) > 0 {
		first, n, whole := rows[0], 0, true
		var columns []string
		var doubt string
		for n < len(rows) && rows[n].schema == first.schema && rows[n].table == first.table && rows[n].key == first.key {
			whole = whole && rows[n].column.Valid
			columns = append(columns, rows[n].column.String)
			doubt = cmp.Or(doubt, rows[n].doubt)
			n++
		}
		rows = rows[n:]
		t := f.table(first.schema, first.table)
		switch {
		case t == nil || !whole:
		case doubt != "":
			t.Doubts = append(t.Doubts, fmt.Sprintf("its unique index %s is no key: %s", first.key, doubt))
		case first.primary:
			t.Primary = columns
		default:
			t.Unique = append(t.Unique, columns)
		}
	}
}

// foreignRow is one pair of columns of one foreign key.
type foreignRow struct {
	schema, table, key string
	column             string
	toSchema, toTable  string
	to                 sql.NullString
}

// foreignKeys groups rows that come key by key. Without a column to refer to,
// the primary key is meant (SQLite).
func (f *facts) foreignKeys(rows []foreignRow) {
	for len(rows) > 0 {
		first, n := rows[0], 0
		key := catalogue.ForeignKey{Name: first.key, ToSchema: first.toSchema, ToTable: first.toTable}
		for n < len(rows) && rows[n].schema == first.schema && rows[n].table == first.table && rows[n].key == first.key {
			key.Columns = append(key.Columns, rows[n].column)
			if rows[n].to.Valid {
				key.To = append(key.To, rows[n].to.String)
			}
			n++
		}
		rows = rows[n:]
		if to := f.table(key.ToSchema, key.ToTable); to != nil && len(key.To) == 0 {
			key.To = to.Primary
		}
		if t := f.table(first.schema, first.table); t != nil {
			t.ForeignKeys = append(t.ForeignKeys, key)
		}
	}
}
