package lens

import (
	"context"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"

	"github.com/postledger/postledger/lens/source"
)

// Rows reads the selected fields of all rows, for tests that must not depend on
// pages.
func Rows(ctx context.Context, q *Query, s *source.Source) ([]Row, error) {
	w := newWriter(q.catalogue.Dialect)
	alias := w.alias()
	var columns []string
	for _, item := range q.shape {
		columns = append(columns, w.dialect.read(item.column, w.ref(alias, item.column)))
	}
	statement := "SELECT " + strings.Join(columns, ", ") + " FROM " + w.table(q.table, alias) + " WHERE " + w.where(q.where, alias)
	var rows []Row
	err := s.Read(ctx, statement, w.args, func(scan func(...any) error) error {
		raw, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range raw {
			into[i] = &raw[i]
		}
		if err := scan(into...); err != nil {
			return err
		}
		row := Row{}
		for i, item := range q.shape {
			value, err := decode(q.catalogue.Dialect, item.column, raw[i])
			if err != nil {
				return err
			}
			row[item.column.Name] = value
		}
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

// CountSQL is the statement of Count.
func CountSQL(q *Query) (statement string, args []any) { return q.countSQL() }

// DecodeJSON is how a row holds JSON.
func DecodeJSON(text string) any { return decodeJSON(catalogue.PostgreSQL, text) }
