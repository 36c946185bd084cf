package lens

import (
	"context"
	"fmt"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// suits refuses a source that speaks another dialect than the catalogue came
// from.
func (q *Query) suits(s *source.Source) error {
	if s.Dialect() != q.catalogue.Dialect {
		return fmt.Errorf("the lens was checked against a catalogue of %s, the source is %s", q.catalogue.Dialect, s.Dialect())
	}
	return nil
}

// Count counts the rows.
func (q *Query) Count(ctx context.Context, s *source.Source) (int64, error) {
	if err := q.suits(s); err != nil {
		return 0, err
	}
	statement, args := q.countSQL()
	var n int64
	err := s.Read(ctx, statement, args, func(scan func(...any) error) error { return scan(&n) })
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", q.table.Name, err)
	}
	return n, nil
}

func (q *Query) countSQL() (statement string, args []any) {
	w := newWriter(q.catalogue.Dialect)
	alias := w.alias()
	statement = "SELECT COUNT(*) FROM " + w.table(q.table, alias) + " WHERE " + w.where(q.where, alias)
	return statement, w.args
}

// Includes tells whether the row of a key is one of the lens's rows, in one
// statement: the question a gate asks of a scope. The key's values come in the
// order of [Query.Key]; one that cannot be a value of its column is an error,
// never a quiet no.
func (q *Query) Includes(ctx context.Context, s *source.Source, key ...any) (bool, error) {
	if err := q.suits(s); err != nil {
		return false, err
	}
	where, err := q.keyed(key)
	if err != nil {
		return false, err
	}
	w := newWriter(q.catalogue.Dialect)
	alias := w.alias()
	statement := "SELECT 1 FROM " + w.table(q.table, alias) + " WHERE " + w.where(where, alias) + " LIMIT 1"
	found := false
	err = s.Read(ctx, statement, w.args, func(scan func(...any) error) error {
		found = true
		return scan(new(any))
	})
	if err != nil {
		return false, fmt.Errorf("look for a row of %s: %w", q.table.Name, err)
	}
	return found, nil
}

// keyed narrows the rows to that of a key.
func (q *Query) keyed(key []any) (bound, error) {
	if len(key) != len(q.key) {
		return nil, &Fault{Path: "key", Problem: fmt.Sprintf("has %d values, %d are needed", len(key), len(q.key))}
	}
	b := &binder{catalogue: q.catalogue}
	all := make(boundAll, 0, len(key)+1)
	for i, column := range q.key {
		v, err := valueOf(key[i])
		v = v.asKind(column.Kind)
		text, isText := v.Literal.(string)
		switch {
		case err != nil || v.Param != "":
			return nil, &Fault{Path: fmt.Sprintf("key[%d]", i), Problem: "must be a value"}
		case isText && column.Kind.Moment() && strings.HasPrefix(text, "now"):
			return nil, &Fault{Path: fmt.Sprintf("key[%d]", i), Problem: "must be a time, not one relative to now"}
		}
		value := b.typed(target{kind: column.Kind, details: column.Details}, v.Literal, fmt.Sprintf("key[%d]", i))
		all = append(all, boundCompare{column: column, op: Eq, values: []any{value}})
	}
	if err := b.faults.err(); err != nil {
		return nil, err
	}
	return append(all, q.where), nil
}

// Dialect is the SQL the query is written in.
func (q *Query) Dialect() catalogue.Dialect { return q.catalogue.Dialect }
