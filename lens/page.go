package lens

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// Bounds of one page.
const (
	DefaultPage = 500
	MaxPage     = 1_000
	// PageBytes is how much a page's own rows hold before it ends early, roughly: the last
	// row is read whole.
	PageBytes = 16 << 20
	// MaxRelated is the most related rows that a page may hold, all relations
	// together, and RelatedBytes what they may hold, roughly. A page whose rows have more
	// is cut in half until it fits; a single row with more is [ErrTooManyRelated].
	MaxRelated   = 100_000
	RelatedBytes = 64 << 20
)

// Page is a part of a lens's rows, pruned to its select.
type Page struct {
	Rows []Row
	// Next is where the next page begins; "" after the last.
	Next Cursor
}

// Page reads up to limit rows (0 is [DefaultPage], at most [MaxPage] and what the
// source allows) after a cursor, in the lens's order; fewer where they are large, or bring
// many others along, and then too Next leads on. Its related rows are read
// right after it, a statement a relation and some hundred rows; no transaction is
// open between two pages.
//
// Rows whose order changes between two pages may be met twice or not at all; see
// [Query.Stream] for what is exact.
func (q *Query) Page(ctx context.Context, s *source.Source, after Cursor, limit int) (Page, error) {
	if err := q.suits(s); err != nil {
		return Page{}, err
	}
	if limit == 0 {
		limit = min(DefaultPage, s.Options().Rows-1)
	}
	if most := min(MaxPage, s.Options().Rows-1); limit < 1 || limit > most {
		return Page{}, fmt.Errorf("a page has 1 to %d rows, not %d", most, limit)
	}
	b, err := q.batch(ctx, s, q.order, after, limit, PageBytes, nil)
	if err != nil {
		return Page{}, err
	}
	return b.page(0, b.block.Len())
}

// First reads the first row in the lens's order; false when there is none.
func (q *Query) First(ctx context.Context, s *source.Source) (Row, bool, error) {
	p, err := q.Page(ctx, s, "", 1)
	if err != nil || len(p.Rows) == 0 {
		return nil, false, err
	}
	return p.Rows[0], true, nil
}

// pageRead is a page's statement and how its result is read.
type pageRead struct {
	dialect   catalogue.Dialect
	table     string
	sql       string
	args      []any
	columns   int
	level     *level
	name      string
	order     []ordering
	orderedAt []int
	keyAt     []int
	// follows: relations are read after the page, by the values of its rows.
	follows bool
}

func (q *Query) pageStatement(order []ordering, after Cursor, limit int) (*pageRead, error) {
	w := newWriter(q.catalogue.Dialect)
	alias := w.alias()
	var chosen selection
	r := &pageRead{dialect: w.speaks, table: q.table.Name, level: chosen.level(w, q.shape, alias, true), order: order, name: orderName(q.table.Name, order, columnNames(q.key))}
	r.follows = r.level.follows()
	for _, o := range order {
		r.orderedAt = append(r.orderedAt, chosen.add(w.dialect.read(o.column, w.ref(alias, o.column))))
	}
	for _, c := range q.key {
		r.keyAt = append(r.keyAt, chosen.add(w.dialect.raw(c, w.ref(alias, c))))
	}
	where := w.where(q.where, alias)
	if after != "" {
		at, err := decodeCursor(w.speaks, after, r.name, order, q.key)
		if err != nil {
			return nil, err
		}
		where = "(" + where + ") AND " + w.after(order, q.key, alias, at)
	}
	end := " WHERE " + where + " ORDER BY " + w.orderBy(order, q.key, alias) + " LIMIT " + itoa(limit)
	from := w.table(q.table, alias) + chosen.joins + end
	if chosen.joins != "" && len(order) > 0 && w.speaks == catalogue.PostgreSQL {
		from = w.pageFirst(q, order, alias, end) + chosen.joins + " ORDER BY " + w.orderBy(order, q.key, alias)
	}
	r.sql = "SELECT " + strings.Join(chosen.exprs, ", ") + " FROM " + from
	r.args, r.columns = w.args, len(chosen.exprs)
	return r, nil
}

// refuses tells whether the database makes nothing of a cursor's values by themselves.
// Else a row is to blame for what failed.
func (q *Query) refuses(ctx context.Context, s *source.Source, order []ordering, after Cursor) bool {
	w := newWriter(q.catalogue.Dialect)
	at, err := decodeCursor(w.speaks, after, orderName(q.table.Name, order, columnNames(q.key)), order, q.key)
	if err != nil {
		return true
	}
	var values []string
	for i, o := range order {
		if at.order[i] != nil {
			values = append(values, w.dialect.value(w, targetOf(o.column), at.order[i]))
		}
	}
	for i, c := range q.key {
		values = append(values, w.dialect.bindRaw(w, c, at.key[i]))
	}
	err = s.Read(ctx, "SELECT "+strings.Join(values, ", "), w.args, func(scan func(...any) error) error {
		into := make([]any, len(values))
		for i := range into {
			into[i] = new(any)
		}
		return scan(into...)
	})
	return errors.Is(err, source.ErrValue)
}

// cursor is the position of a row.
func (r *pageRead) cursor(raw []any) (Cursor, error) {
	var at position
	for i, o := range r.order {
		value, err := decode(r.dialect, o.column, raw[r.orderedAt[i]])
		if err == nil {
			value, err = comparableOf(o.column.Kind, o.column.Details, value)
		}
		if err != nil {
			return "", fmt.Errorf("order by %s: %w", o.column.Name, err)
		}
		at.order = append(at.order, value)
	}
	for _, k := range r.keyAt {
		value := rawValue(r.dialect, raw[k])
		if value == nil {
			return "", errors.New("the key holds null, which it should never: name another in the model")
		}
		at.key = append(at.key, value)
	}
	return encodeCursor(r.name, at)
}

func columnNames(columns []*catalogue.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}
