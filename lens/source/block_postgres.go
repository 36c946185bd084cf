package source

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresBlock sends the transaction in one round trip, and reads what comes without
// database/sql between.
func (s *Source) postgresBlock(ctx context.Context, query string, args []any, b *Block, full func() (bool, error)) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin to read: %w", ended(ctx, err))
	}
	defer func() { _ = conn.Close() }()
	var own error // which the driver is not told of
	err = conn.Raw(func(driver any) error {
		wrapped, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the driver is a %T", driver)
		}
		var failed error
		own, failed = readBatch(ctx, wrapped.Conn(), query, args, b, full)
		return failed
	})
	switch {
	case own != nil:
		return own
	case err != nil:
		return fmt.Errorf("query: %w", ended(ctx, err))
	}
	return nil
}

// readBatch reads a query's rows. own is an error that the connection has no part in.
func readBatch(ctx context.Context, c *pgx.Conn, query string, args []any, b *Block, full func() (bool, error)) (own, err error) {
	batch := &pgx.Batch{}
	batch.Queue("begin read only")
	batch.Queue(query, args...)
	batch.Queue("rollback") // nothing is ever written: it only ends the transaction
	results := c.SendBatch(ctx, batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
		if err != nil {
			endTransaction(c)
		}
	}()
	if _, err := results.Exec(); err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if own = b.expect(rows.FieldDescriptions()); own != nil {
		return own, nil
	}
	for rows.Next() {
		if enough, err := full(); enough || err != nil {
			return err, nil
		}
		b.pack(rows.RawValues())
	}
	return nil, rows.Err()
}

// endTransaction ends the transaction of a statement that failed, which skipped the
// rollback behind it. The pool drops a connection where that does not work.
func endTransaction(c *pgx.Conn) {
	if c.IsClosed() || c.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = c.Exec(ctx, "rollback")
}

// form is how the cells of a column are packed. A width that is not 0 is that of each.
type form struct {
	width int
	value func(cell []byte) any // nil: the cell is text
}

// expect chooses the forms of a result. Lenses select few types that are not text.
func (b *Block) expect(fields []pgconn.FieldDescription) error {
	if len(fields) != b.columns {
		return fmt.Errorf("the result has %d columns, %d were expected", len(fields), b.columns)
	}
	b.forms = make([]form, len(fields))
	for i, f := range fields {
		switch {
		case f.Format == pgx.TextFormatCode, f.DataTypeOID == pgtype.TextOID, f.DataTypeOID == pgtype.VarcharOID:
		case f.DataTypeOID == pgtype.BoolOID:
			b.forms[i] = form{1, func(c []byte) any { return c[0] != 0 }}
		case f.DataTypeOID == pgtype.Int2OID:
			b.forms[i] = form{2, func(c []byte) any { return int64(int16(binary.BigEndian.Uint16(c))) }}
		case f.DataTypeOID == pgtype.Int4OID:
			b.forms[i] = form{4, func(c []byte) any { return int64(int32(binary.BigEndian.Uint32(c))) }}
		case f.DataTypeOID == pgtype.Int8OID:
			b.forms[i] = form{8, func(c []byte) any { return int64(binary.BigEndian.Uint64(c)) }}
		case f.DataTypeOID == pgtype.Float8OID:
			b.forms[i] = form{8, func(c []byte) any { return math.Float64frombits(binary.BigEndian.Uint64(c)) }}
		case f.DataTypeOID == pgtype.ByteaOID:
			b.forms[i] = form{0, func(c []byte) any { return append([]byte{}, c...) }}
		default:
			return fmt.Errorf("column %d is of the type %d, which nothing here reads", i, f.DataTypeOID)
		}
	}
	return nil
}

func (b *Block) pack(raw [][]byte) {
	for _, cell := range raw {
		b.packed = append(b.packed, cell...)
		end := len(b.packed)
		b.size += cellSize + len(cell)
		if cell == nil {
			end = ^end
		}
		b.ends = append(b.ends, end)
	}
}

// unpack makes the values of a row. All of its text is one piece of memory: a row is kept
// or dropped as a whole, mostly.
func (b *Block) unpack(i int, into []any) ([]any, error) {
	if len(into) != b.columns {
		into = make([]any, b.columns)
	}
	ends := b.ends[i*b.columns : (i+1)*b.columns]
	first := 0
	if i > 0 {
		first = endOf(b.ends[i*b.columns-1])
	}
	text := string(b.packed[first:endOf(ends[b.columns-1])])
	at := first
	for c, end := range ends {
		form := &b.forms[c]
		switch {
		case end < 0:
			into[c] = nil
			continue
		case form.value == nil:
			into[c] = text[at-first : end-first]
		case form.width > 0 && end-at != form.width:
			return nil, fmt.Errorf("column %d has a value of %d bytes, not of %d", c, end-at, form.width)
		default:
			into[c] = form.value(b.packed[at:end])
		}
		at = end
	}
	return into, nil
}

func endOf(end int) int {
	if end < 0 {
		return ^end
	}
	return end
}
