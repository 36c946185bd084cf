package lens

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// Misfits names the fields, as table.field, that the scope's conditions compare and of which the
// database holds a value that is none of their kind, such as text in a SQLite column of
// instants. Conditions take such a value for null, so a floor that asks for null lets
// its row through. A field is read up to the first such value: in a table without any
// that is all of it, within the source's time for a statement. What could not be looked
// through is in the error; the names are good all the same.
func (s Scope) Misfits(ctx context.Context, c *catalogue.Catalogue, src *source.Source) ([]string, error) {
	compared := map[string]*catalogue.Table{}
	columns := map[string]*catalogue.Column{}
	compare := func(condition Condition, t *catalogue.Table) {
		c, isCompare := condition.(Compare)
		if !isCompare {
			return
		}
		if column, found := t.Column(c.Field); found {
			name := t.Name + "." + column.Name
			compared[name], columns[name] = t, column
		}
	}
	for name, condition := range s.Where {
		if t, found := c.Table(name); found {
			eachCondition(condition, t, compare)
		}
	}
	var names []string
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(compared)) {
		found, err := misfit(ctx, src, compared[name], columns[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("look through %s: %w", name, err))
		}
		if found {
			names = append(names, name)
		}
	}
	return names, errors.Join(errs...)
}

// misfit tells whether a column holds a value that conditions take for null and that is
// not.
func misfit(ctx context.Context, src *source.Source, t *catalogue.Table, c *catalogue.Column) (bool, error) {
	switch c.Kind {
	case catalogue.JSON, catalogue.Array, catalogue.Unsupported:
		return false, nil // compared within, where another type is no fault of the data
	}
	w := newWriter(src.Dialect())
	alias := w.alias()
	ref := w.ref(alias, c)
	if _, fits := w.dialect.operand(c, ref, true); fits == "" {
		return false, nil
	}
	statement := "SELECT 1 FROM " + w.table(t, alias) + " WHERE " + ref + " IS NOT NULL AND " +
		w.isNull(boundCompare{column: c, op: IsNull, flag: true}, ref) + " LIMIT 1"
	found := false
	err := src.Read(ctx, statement, w.args, func(scan func(...any) error) error {
		var one int
		found = true
		return scan(&one)
	})
	return found, err
}
