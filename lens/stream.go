package lens

import (
	"context"
	"iter"
	"slices"

	"github.com/postledger/postledger/lens/source"
)

// Stream reads every row after a cursor, in pages of up to [MaxPage], by the key alone
// and without regard to the lens's order. A statement reads several pages, up to 8,000
// rows or 2 MiB, and the next such part is read while the pages of one are handed out
// (not from SQLite, whose file would be locked for those who write meanwhile). Memory
// holds two of them, and no transaction outlives a statement, however long a page is
// kept.
//
// The rule: a row that matched during the whole stream, and whose key did not
// change, is given exactly once. One that came to match, or ceased to, meanwhile,
// may be given or not, and never twice; one whose key changes may be given under
// both.
//
// Each page comes with the cursor that goes on after it, to be kept when its rows
// are done with: a stream that starts there again loses none of them. The stream
// ends after the last page or the first error.
func (q *Query) Stream(ctx context.Context, s *source.Source, after Cursor) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		if err := q.suits(s); err != nil {
			yield(Page{}, err)
			return
		}
		size := q.streamPage(s)
		r := &reading{query: q, source: s, after: after, limit: size, page: size}
		defer r.stop()
		for first := true; ; first = false {
			b, err := r.batch(ctx)
			if err != nil {
				yield(Page{}, err)
				return
			}
			if !first { // whoever came back for a second page wants them all
				r.ahead(ctx)
			}
			for from := 0; from < b.block.Len(); from += size {
				p, err := b.page(from, min(from+size, b.block.Len()))
				if !yield(p, err) || err != nil {
					return
				}
			}
			if !b.more {
				return
			}
		}
	}
}

// streamPage is the size of a stream's pages: the largest, unless rows bring related
// rows along, of which a page holds so many only.
func (q *Query) streamPage(s *source.Source) int {
	size := MaxPage
	if many(q.shape) {
		size = DefaultPage
	}
	return min(size, s.Options().Rows-1)
}

func many(s shape) bool {
	return slices.ContainsFunc(s, func(i shapeItem) bool {
		return i.nested != nil && (i.nested.relation.Many || many(i.nested.shape))
	})
}

// Rows is Stream, row by row.
func (q *Query) Rows(ctx context.Context, s *source.Source, after Cursor) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for p, err := range q.Stream(ctx, s, after) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, row := range p.Rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}
