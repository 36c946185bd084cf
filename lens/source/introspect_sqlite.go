package source

import (
	"context"
	"strconv"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// A column can be trusted never to be null if it says so, if it is the row's id,
// or if it is the key of a table without row ids: other primary keys may hold
// nulls in SQLite. The row's id is the primary key for which SQLite made no index: INT is
// none, and neither is INTEGER PRIMARY KEY DESC.
const sqliteColumns = `
SELECT name, view, "column", type, "notnull" OR pk > 0 AND wr OR row_id, row_id
FROM (SELECT t.name AS name, t.type = 'view' AS view, c.name AS "column", c.type AS type, c."notnull" AS "notnull", c.pk AS pk, t.wr AS wr, c.cid AS cid,
             c.pk > 0 AND t.type = 'table' AND NOT t.wr AND NOT EXISTS (SELECT 1 FROM pragma_index_list(t.name) i WHERE i.origin = 'pk') AS row_id
FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c
WHERE t.schema = 'main' AND t.type IN ('table', 'view', 'virtual') AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND c.hidden <> 1)
ORDER BY name, cid`

// The last column is the collation of the index, where the table's text leaves it open
// whether that is the column's: see sqliteDoubts.
const sqliteKeys = `
SELECT '', t.name, i.name, i.origin = 'pk', CASE WHEN c.cid >= 0 THEN c.name END,
       CASE WHEN lower((SELECT s.sql FROM sqlite_schema s WHERE s.type = 'table' AND s.name = t.name)) LIKE '%collate%' THEN c.coll ELSE '' END
FROM pragma_table_list t JOIN pragma_index_list(t.name) i JOIN pragma_index_xinfo(i.name) c
WHERE t.schema = 'main' AND i."unique" AND NOT i.partial AND c.key
ORDER BY t.name, i.origin <> 'pk', i.name, c.seqno`

const sqliteForeign = `
SELECT '', t.name, f.id, f."from", '', f."table", f."to"
FROM pragma_table_list t JOIN pragma_foreign_key_list(t.name) f
WHERE t.schema = 'main'
ORDER BY t.name, f.id DESC, f.seq`

func (f *facts) sqlite(ctx context.Context) error {
	err := f.read(ctx, sqliteColumns, nil, func(scan func(...any) error) error {
		t := catalogue.SchemaTable{Rows: -1}
		var c catalogue.SchemaColumn
		var never, rowID bool
		if err := scan(&t.Name, &t.View, &c.Name, &c.Type, &never, &rowID); err != nil {
			return err
		}
		c.Nullable = !never
		c.Kind, c.Details = sqliteKind(c.Type)
		if f.table("", t.Name) == nil {
			f.add(t)
		}
		known := f.table("", t.Name)
		known.Columns = append(known.Columns, c)
		if rowID {
			known.Primary = []string{c.Name}
		}
		return nil
	})
	if err != nil {
		return err
	}
	keys, err := f.readKeys(ctx, sqliteKeys, nil)
	if err == nil {
		err = f.sqliteDoubts(ctx, keys)
	}
	if err != nil {
		return err
	}
	f.keys(keys)
	return f.readForeign(ctx, sqliteForeign, nil)
}

// sqliteKinds maps declared types, without what is in brackets. SQLite itself
// gives them little meaning; a value of another kind reads as null. What is not
// here (STRING, for one, turns "0123" into 123) needs a kind in the model.
var sqliteKinds = map[string]catalogue.Kind{
	"BOOL": catalogue.Bool, "BOOLEAN": catalogue.Bool,
	"TINYINT": catalogue.Int, "SMALLINT": catalogue.Int, "MEDIUMINT": catalogue.Int, "INT2": catalogue.Int, "INT4": catalogue.Int,
	"INT": catalogue.BigInt, "INTEGER": catalogue.BigInt, "BIGINT": catalogue.BigInt, "INT8": catalogue.BigInt, "UNSIGNED BIG INT": catalogue.BigInt,
	"DECIMAL": catalogue.Decimal, "NUMERIC": catalogue.Decimal,
	"REAL": catalogue.Float, "DOUBLE": catalogue.Float, "DOUBLE PRECISION": catalogue.Float, "FLOAT": catalogue.Float,
	"TEXT": catalogue.Text, "CLOB": catalogue.Text, "CHAR": catalogue.Text, "VARCHAR": catalogue.Text, "NCHAR": catalogue.Text,
	"NVARCHAR": catalogue.Text, "CHARACTER": catalogue.Text, "CHARACTER VARYING": catalogue.Text, "VARYING CHARACTER": catalogue.Text,
	"NATIVE CHARACTER": catalogue.Text,
	"BLOB":             catalogue.Bytes, "BINARY": catalogue.Bytes, "VARBINARY": catalogue.Bytes,
	"DATE": catalogue.Date, "TIME": catalogue.Time,
	"DATETIME": catalogue.TimestampTZ, "TIMESTAMP": catalogue.TimestampTZ, "TIMESTAMPTZ": catalogue.TimestampTZ,
	"UUID": catalogue.UUID, "GUID": catalogue.UUID, "JSON": catalogue.JSON, "JSONB": catalogue.JSON,
}

func sqliteKind(declared string) (catalogue.Kind, catalogue.Details) {
	name, brackets, _ := strings.Cut(strings.ToUpper(declared), "(")
	d := catalogue.Details{Fuzzy: true}
	kind, known := sqliteKinds[strings.Join(strings.Fields(name), " ")]
	if !known {
		return catalogue.Unsupported, d
	}
	if kind == catalogue.Decimal {
		d.Scale = -1
		if _, scale, found := strings.Cut(strings.TrimSuffix(strings.TrimSpace(brackets), ")"), ","); found {
			if n, err := strconv.Atoi(strings.TrimSpace(scale)); err == nil {
				d.Scale = n
			}
		}
	}
	return kind, d
}
