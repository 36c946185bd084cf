package source

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/postledger/postledger/lens/catalogue"
)

// Block is rows of a result as they came, to be made into values one by one. What
// comes from PostgreSQL is two pieces of memory, whatever it holds.
type Block struct {
	columns int
	rows    [][]any
	// packed are PostgreSQL's rows: the bytes of all cells, and where each ends; the
	// end of a null is ^end.
	packed []byte
	ends   []int
	forms  []form
	// size is what the values take, roughly.
	size int
}

// cellSize is what a value takes beside its bytes.
const cellSize = 32

// Len is how many rows there are.
func (b *Block) Len() int {
	if b.forms != nil {
		return len(b.ends) / b.columns
	}
	return len(b.rows)
}

// Size is how many bytes the values take, roughly.
func (b *Block) Size() int { return b.size }

// Row gives the values of a row: nil, bool, int64, float64, string or []byte, or what
// else the driver makes of a type. into may be used for them, and is theirs then.
func (b *Block) Row(i int, into []any) ([]any, error) {
	if b.forms == nil {
		return b.rows[i], nil
	}
	return b.unpack(i, into)
}

// Want says how much of a result a block shall hold at most. A block of which there is
// more always has a row.
type Want struct{ Columns, Rows, Bytes int }

// Block runs one query as Read does, and keeps what is wanted of its rows; more tells
// that there are others. It uses the memory of a block that is not needed any more, or
// nil.
func (s *Source) Block(ctx context.Context, query string, args []any, w Want, old *Block) (b *Block, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	b = &Block{columns: w.Columns}
	if old != nil {
		b.packed, b.ends = old.packed[:0], old.ends[:0]
	}
	// full is asked before each row.
	full := func() (bool, error) {
		n := b.Len()
		if more = n == w.Rows || n > 0 && b.size >= w.Bytes; more {
			return true, nil
		}
		if n == s.options.Rows {
			return false, fmt.Errorf("%w (%d)", ErrTooManyRows, s.options.Rows)
		}
		return false, nil
	}
	if s.dialect == catalogue.PostgreSQL {
		err = s.postgresBlock(ctx, query, args, b, full)
	} else {
		err = s.transact(ctx, query, args, func(rows *sql.Rows) error { return b.scan(rows, full) })
	}
	return b, more, err
}

// scan reads through database/sql, making room for some rows at a time.
func (b *Block) scan(rows *sql.Rows, full func() (bool, error)) error {
	const some = 64
	var room []any
	into := make([]any, b.columns)
	for rows.Next() {
		if enough, err := full(); enough || err != nil {
			return err
		}
		if len(room) < b.columns {
			room = make([]any, some*b.columns)
		}
		row := room[:b.columns:b.columns]
		room = room[b.columns:]
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		b.rows = append(b.rows, row)
		b.size += cellSize * b.columns
		for _, v := range row {
			switch v := v.(type) {
			case string:
				b.size += len(v)
			case []byte:
				b.size += len(v)
			}
		}
	}
	return nil
}
