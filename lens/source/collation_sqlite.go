package source

import (
	"context"
	"errors"
	"strings"

	"modernc.org/sqlite"

	"github.com/postledger/postledger/lens/catalogue"
)

// sqliteDoubts turns the collations of indexes into doubts. Pages are compared by the
// column's collation; an index under another one vouches for the column only if the
// column's tells all texts apart.
func (f *facts) sqliteDoubts(ctx context.Context, keys []keyRow) error {
	known := map[[2]string]string{}
	for i := range keys {
		k := &keys[i]
		index := k.doubt
		k.doubt = ""
		if index == "" || !k.column.Valid {
			continue
		}
		at := [2]string{k.table, k.column.String}
		column, asked := known[at]
		if !asked {
			var err error
			if column, err = f.sqliteCollation(ctx, k.table, k.column.String); err != nil {
				return err
			}
			known[at] = column
		}
		if column != "BINARY" && !strings.EqualFold(column, index) {
			k.doubt = "it compares by another collation than its column " + k.column.String
		}
	}
	return nil
}

// sqliteCollation finds the collation that a column was declared with, which no pragma
// tells: a result of no row of the column and one of our own compares as the column does.
// It is "" for one that nobody knows here.
func (f *facts) sqliteCollation(ctx context.Context, table, column string) (string, error) {
	d := catalogue.SQLite
	question := "SELECT c = 'A', c = 'a ' FROM (SELECT " + d.Quote(column) + " AS c FROM " + d.Quote(table) + " WHERE 0 UNION ALL SELECT 'a')"
	collation := ""
	err := f.read(ctx, question, nil, func(scan func(...any) error) error {
		var noCase, trimmed bool
		err := scan(&noCase, &trimmed)
		switch {
		case noCase && trimmed:
		case noCase:
			collation = "NOCASE"
		case trimmed:
			collation = "RTRIM"
		default:
			collation = "BINARY"
		}
		return err
	})
	if isUnknownCollation(err) {
		return "", nil
	}
	return collation, err
}

func isUnknownCollation(err error) bool {
	const missing = 257 // SQLITE_ERROR_MISSING_COLLSEQ
	var refused *sqlite.Error
	return errors.As(err, &refused) && refused.Code() == missing
}
