package source

import (
	"context"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// Only what the login may select is seen. A domain counts as the type below it.
const postgresColumns = `
SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'), c.reltuples::bigint, a.attname, a.attnotnull,
       format_type(a.atttypid, a.atttypmod), b.typname, bn.nspname = 'pg_catalog', b.typtype = 'e', b.typcategory = 'A',
       coalesce(e.typname, ''), coalesce(e.typtype = 'e', false),
       CASE WHEN b.typname = 'numeric' THEN CASE WHEN m.typmod > 4 THEN (m.typmod - 4) & 2047 ELSE -1 END ELSE 0 END,
       coalesce(NOT col.collisdeterministic, false),
       coalesce((SELECT string_agg(l.enumlabel, chr(1) ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = b.oid), '')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
JOIN pg_namespace bn ON bn.oid = b.typnamespace
LEFT JOIN pg_type e ON b.typcategory = 'A' AND e.oid = b.typelem
LEFT JOIN pg_collation col ON col.oid = a.attcollation
CROSS JOIN LATERAL (SELECT CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS typmod) m
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname::text = ANY ($1::text[])
  AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY n.nspname, c.relname, a.attnum`

// Partial and expression indexes, deferred and unfinished ones vouch for nothing. Neither
// does one of a table that others inherit from, whose rows are read with its own; and one
// that tells apart what the column itself calls equal: under a collation of its own, where
// the column's is not deterministic, or by the operators of another type (a citext's as
// text).
const postgresKeys = `
SELECT n.nspname, c.relname, i.indexrelid::regclass::text, i.indisprimary, a.attname,
       CASE WHEN c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid)
            THEN 'it does not hold the rows of the tables that inherit from this one'
            WHEN NOT col.collisdeterministic AND i.indcollation[k.position::int - 1] <> a.attcollation
            THEN 'it compares by another collation than its column ' || a.attname
            WHEN bn.nspname <> 'pg_catalog' AND o.opcintype <> b.oid AND ot.typtype <> 'p' OR bn.nspname = 'pg_catalog' AND opn.nspname <> 'pg_catalog'
            THEN 'it compares by other operators than its column ' || a.attname
            ELSE '' END
FROM pg_index i
JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, position)
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND k.attnum > 0
LEFT JOIN pg_collation col ON col.oid = a.attcollation
LEFT JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
LEFT JOIN pg_namespace bn ON bn.oid = b.typnamespace
LEFT JOIN pg_opclass o ON o.oid = i.indclass[k.position::int - 1]
LEFT JOIN pg_namespace opn ON opn.oid = o.opcnamespace
LEFT JOIN pg_type ot ON ot.oid = o.opcintype
WHERE i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
  AND k.position <= i.indnkeyatts AND n.nspname::text = ANY ($1::text[])
ORDER BY n.nspname, c.relname, i.indisprimary DESC, i.indexrelid, k.position`

const postgresForeign = `
SELECT n.nspname, c.relname, f.conname, a.attname, tn.nspname, tc.relname, ta.attname
FROM pg_constraint f
JOIN pg_class c ON c.oid = f.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class tc ON tc.oid = f.confrelid
JOIN pg_namespace tn ON tn.oid = tc.relnamespace
CROSS JOIN LATERAL unnest(f.conkey, f.confkey) WITH ORDINALITY AS k (attnum, toattnum, position)
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
JOIN pg_attribute ta ON ta.attrelid = tc.oid AND ta.attnum = k.toattnum
WHERE f.contype = 'f' AND f.conparentid = 0 AND n.nspname::text = ANY ($1::text[])
ORDER BY n.nspname, c.relname, f.conname, k.position`

func (f *facts) postgres(ctx context.Context) error {
	schemas, err := f.postgresSchemas(ctx)
	if err != nil {
		return err
	}
	f.schema.Default = schemas[0]
	args := []any{schemas}
	err = f.read(ctx, postgresColumns, args, func(scan func(...any) error) error {
		var t catalogue.SchemaTable
		var p postgresType
		var c catalogue.SchemaColumn
		var never bool
		var labels string
		err := scan(&t.Schema, &t.Name, &t.View, &t.Rows, &c.Name, &never, &c.Type,
			&p.name, &p.builtIn, &p.enum, &p.array, &p.element, &p.elementEnum, &p.scale, &p.fuzzy, &labels)
		if err != nil {
			return err
		}
		c.Nullable = !never
		c.Kind, c.Details = p.kind()
		if p.enum {
			c.Details.Labels = strings.Split(labels, "\x01")
		}
		if f.table(t.Schema, t.Name) == nil {
			f.add(t)
		}
		known := f.table(t.Schema, t.Name)
		known.Columns = append(known.Columns, c)
		return nil
	})
	if err != nil {
		return err
	}
	return f.relate(ctx, postgresKeys, postgresForeign, args)
}

type postgresType struct {
	name, element                     string
	builtIn, enum, array, elementEnum bool
	scale                             int
	fuzzy                             bool
}

// kind maps a type. citext is the one type of an extension that is known.
func (p postgresType) kind() (catalogue.Kind, catalogue.Details) {
	d := catalogue.Details{Scale: p.scale, Fuzzy: p.fuzzy}
	switch {
	case p.enum:
		return catalogue.Enum, d
	case p.array && p.builtIn:
		return p.arrayKind(d)
	case p.name == "citext":
		d.Cast = true
		return catalogue.Text, d
	case !p.builtIn:
		return catalogue.Unsupported, d
	}
	switch p.name {
	case "bool":
		return catalogue.Bool, d
	case "int2", "int4":
		return catalogue.Int, d
	case "int8":
		return catalogue.BigInt, d
	case "numeric":
		return catalogue.Decimal, d
	case "float4", "float8":
		d.Single = p.name == "float4"
		return catalogue.Float, d
	case "text", "varchar":
		return catalogue.Text, d
	case "bpchar", "name":
		d.Cast = true
		return catalogue.Text, d
	case "bytea":
		return catalogue.Bytes, d
	case "time":
		return catalogue.Time, d
	case "date":
		return catalogue.Date, d
	case "timestamp":
		return catalogue.Timestamp, d
	case "timestamptz":
		return catalogue.TimestampTZ, d
	case "uuid":
		return catalogue.UUID, d
	case "json", "jsonb":
		d.Binary = p.name == "jsonb"
		return catalogue.JSON, d
	}
	return catalogue.Unsupported, d
}

// arrayKind allows elements whose equality is the same everywhere.
func (p postgresType) arrayKind(d catalogue.Details) (catalogue.Kind, catalogue.Details) {
	element := postgresType{name: p.element, builtIn: true, fuzzy: p.fuzzy}
	d.Element, _ = element.kind()
	d.ElementType = p.element
	switch p.element {
	case "bool", "int2", "int4", "int8", "text", "varchar", "uuid":
		return catalogue.Array, d
	}
	return catalogue.Unsupported, d
}
