package lens

import (
	"context"
	"errors"
	"fmt"

	"github.com/postledger/postledger/lens/source"
)

// batch is what one statement gave of a query's rows, to be handed out in pages.
type batch struct {
	read  *pageRead
	block *source.Block
	// more: rows follow the last.
	more bool
	// rows are made already where others had to be read for them.
	rows []Row
	room []any
}

// batch reads up to limit rows, and no more when they hold so many bytes; half as many, and
// half of those, while they bring more related rows than a page may hold. old is a batch whose
// rows are all handed out, or nil.
func (q *Query) batch(ctx context.Context, s *source.Source, order []ordering, after Cursor, limit, bytes int, old *batch) (*batch, error) {
	for {
		b, err := q.batchOf(ctx, s, order, after, limit, bytes, old)
		if limit == 1 || !errors.Is(err, ErrTooManyRelated) {
			return b, err
		}
		limit /= 2
	}
}

func (q *Query) batchOf(ctx context.Context, s *source.Source, order []ordering, after Cursor, limit, bytes int, old *batch) (*batch, error) {
	read, err := q.pageStatement(order, after, limit+1)
	if err != nil {
		return nil, err
	}
	b := &batch{read: read, room: make([]any, read.columns)}
	var used *source.Block
	if old != nil {
		used = old.block
	}
	b.block, b.more, err = s.Block(ctx, read.sql, read.args, source.Want{Columns: read.columns, Rows: limit, Bytes: bytes}, used)
	if after != "" && errors.Is(err, source.ErrValue) && q.refuses(ctx, s, order, after) {
		return nil, ErrCursor
	}
	if err == nil && read.follows {
		err = b.follow(ctx, q, s)
	}
	if err != nil {
		return nil, fmt.Errorf("read a page of %s: %w", read.table, err)
	}
	return b, nil
}

// follow makes all rows, and reads their related ones.
func (b *batch) follow(ctx context.Context, q *Query, s *source.Source) error {
	raws := make([][]any, b.block.Len())
	b.rows = make([]Row, len(raws))
	for i := range raws {
		var err error
		if raws[i], err = b.block.Row(i, nil); err == nil {
			b.rows[i], err = b.read.level.row(b.read.dialect, raws[i])
		}
		if err != nil {
			return err
		}
	}
	h := &hydration{query: q, source: s, left: MaxRelated, bytes: RelatedBytes}
	return h.level(ctx, b.read.level, b.rows, raws)
}

// page is a part of the batch, with the cursor that goes on after it.
func (b *batch) page(from, to int) (p Page, err error) {
	if b.rows != nil {
		p.Rows = b.rows[from:to:to]
	} else {
		p.Rows, err = b.make(from, to)
	}
	if err == nil && (b.more || to < b.block.Len()) {
		p.Next, err = b.cursor(to - 1)
	}
	if err != nil {
		return Page{}, fmt.Errorf("read a page of %s: %w", b.read.table, err)
	}
	return p, nil
}

func (b *batch) make(from, to int) ([]Row, error) {
	rows := make([]Row, 0, to-from)
	for i := from; i < to; i++ {
		raw, err := b.block.Row(i, b.room)
		if err != nil {
			return nil, err
		}
		row, err := b.read.level.row(b.read.dialect, raw)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (b *batch) cursor(i int) (Cursor, error) {
	raw, err := b.block.Row(i, b.room)
	if err != nil {
		return "", err
	}
	return b.read.cursor(raw)
}
