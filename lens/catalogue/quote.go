package catalogue

import "strings"

// Quote writes an identifier so that the dialect takes it as it is. Only names
// that came from the database itself are ever given to it.
func (d Dialect) Quote(name string) string {
	if d == MySQL {
		return "`" + strings.ReplaceAll(name, "`", "``") + "`"
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Quoted is the quoted name of a table, in its schema if it has one.
func (d Dialect) Quoted(schema, table string) string {
	if schema == "" {
		return d.Quote(table)
	}
	return d.Quote(schema) + "." + d.Quote(table)
}
