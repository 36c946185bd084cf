package source

import (
	"context"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

const mysqlColumns = `
SELECT t.table_schema, t.table_name, t.table_type <> 'BASE TABLE', coalesce(t.table_rows, -1),
       c.column_name, c.is_nullable = 'YES', c.data_type, c.column_type, coalesce(c.numeric_scale, 0),
       coalesce(c.character_set_name, 'utf8mb4') <> 'utf8mb4', coalesce(c.collation_name, '')
FROM information_schema.tables t
JOIN information_schema.columns c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
WHERE t.table_schema = database() AND t.table_type IN ('BASE TABLE', 'VIEW')
ORDER BY t.table_name, c.ordinal_position`

// A key over the beginning of a column (sub_part) or over an expression (no
// column) vouches for nothing.
const mysqlKeys = `
SELECT table_schema, table_name, index_name, index_name = 'PRIMARY', CASE WHEN sub_part IS NULL THEN column_name END, ''
FROM information_schema.statistics
WHERE table_schema = database() AND non_unique = 0
ORDER BY table_name, index_name <> 'PRIMARY', index_name, seq_in_index`

const mysqlForeign = `
SELECT table_schema, table_name, constraint_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name
FROM information_schema.key_column_usage
WHERE table_schema = database() AND referenced_table_name IS NOT NULL
ORDER BY table_name, constraint_name, ordinal_position`

// MariaDB's JSON is text with a check.
const mariaDBChecks = `
SELECT table_name, check_clause FROM information_schema.check_constraints
WHERE constraint_schema = database() AND check_clause LIKE 'json_valid(%'`

func (f *facts) mysql(ctx context.Context) error {
	valid := map[[2]string]bool{}
	if f.source.mariaDB {
		err := f.read(ctx, mariaDBChecks, nil, func(scan func(...any) error) error {
			var table, check string
			err := scan(&table, &check)
			column := strings.TrimSuffix(strings.TrimPrefix(check, "json_valid(`"), "`)")
			valid[[2]string{table, column}] = true
			return err
		})
		if err != nil {
			return err
		}
	}
	err := f.read(ctx, mysqlColumns, nil, func(scan func(...any) error) error {
		var t catalogue.SchemaTable
		var c catalogue.SchemaColumn
		var dataType string
		err := scan(&t.Schema, &t.Name, &t.View, &t.Rows, &c.Name, &c.Nullable, &dataType, &c.Type, &c.Details.Scale, &c.Details.Cast, &c.Details.Collation)
		if err != nil {
			return err
		}
		c.Kind, c.Details = mysqlKind(strings.ToLower(dataType), strings.ToLower(c.Type), c.Type, c.Details)
		if valid[[2]string{t.Name, c.Name}] && c.Kind == catalogue.Text {
			c.Kind = catalogue.JSON
		}
		if f.table(t.Schema, t.Name) == nil {
			f.schema.Default = t.Schema
			f.add(t)
		}
		known := f.table(t.Schema, t.Name)
		known.Columns = append(known.Columns, c)
		return nil
	})
	if err != nil {
		return err
	}
	return f.relate(ctx, mysqlKeys, mysqlForeign, nil)
}

// mysqlKind maps a type. A TINYINT(1) or BIT(1) is a truth value by convention
// of the server's own BOOLEAN.
func mysqlKind(dataType, columnType, original string, d catalogue.Details) (catalogue.Kind, catalogue.Details) {
	d.Unsigned = strings.Contains(columnType, "unsigned")
	switch dataType {
	case "tinyint":
		if strings.HasPrefix(columnType, "tinyint(1)") {
			return catalogue.Bool, d
		}
		return catalogue.Int, d
	case "bit":
		if columnType == "bit(1)" {
			return catalogue.Bool, d
		}
	case "smallint", "mediumint", "int", "year":
		return catalogue.Int, d
	case "bigint":
		return catalogue.BigInt, d
	case "decimal":
		return catalogue.Decimal, d
	case "float", "double":
		d.Single = dataType == "float"
		return catalogue.Float, d
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		d.Fuzzy = true
		return catalogue.Text, d
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return catalogue.Bytes, d
	case "time":
		return catalogue.Time, d
	case "date":
		return catalogue.Date, d
	case "datetime":
		return catalogue.Timestamp, d
	case "timestamp":
		return catalogue.TimestampTZ, d
	case "uuid":
		return catalogue.UUID, d
	case "json":
		d.Binary = true
		return catalogue.JSON, d
	case "enum":
		d.Labels, d.Fuzzy = mysqlLabels(original), true
		return catalogue.Enum, d
	}
	return catalogue.Unsupported, d
}

// mysqlLabels reads enum('a','it”s').
func mysqlLabels(columnType string) []string {
	_, list, _ := strings.Cut(columnType, "(")
	list = strings.TrimSuffix(list, ")")
	var labels []string
	for list != "" {
		list = strings.TrimPrefix(strings.TrimPrefix(list, ","), "'")
		var label strings.Builder
		for list != "" {
			if rest, quote := strings.CutPrefix(list, "''"); quote {
				label.WriteByte('\'')
				list = rest
				continue
			}
			if rest, end := strings.CutPrefix(list, "'"); end {
				list = rest
				break
			}
			label.WriteByte(list[0])
			list = list[1:]
		}
		labels = append(labels, label.String())
	}
	return labels
}
