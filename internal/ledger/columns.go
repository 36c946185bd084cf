package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/postledger/postledger"
)

// What hot statements return is scanned without database/sql on PostgreSQL,
// which would turn each uuid into text and back. The columns here read what
// either way gives them.

// timeColumn scans microseconds or NULL into a time.
type timeColumn struct{ t *time.Time }

func (c timeColumn) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c.t = time.Time{}
	case int64:
		*c.t = fromMicros(v)
	default:
		return fmt.Errorf("scan time: unexpected %T", src)
	}
	return nil
}

// ScanInt64 implements pgtype.Int64Scanner.
func (c timeColumn) ScanInt64(v pgtype.Int8) error {
	*c.t = fromMicros(v.Int64)
	return nil
}

// idColumn scans an id; NULL is the zero id.
type idColumn struct{ id *postledger.ID }

func (c idColumn) Scan(src any) error { return c.id.Scan(src) }

// ScanUUID implements pgtype.UUIDScanner.
func (c idColumn) ScanUUID(v pgtype.UUID) error {
	*c.id = postledger.ID{}
	if v.Valid {
		*c.id = v.Bytes
	}
	return nil
}

// textColumn scans a text; NULL is the empty one.
type textColumn[T ~string] struct{ s *T }

func (c textColumn[T]) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c.s = ""
	case string:
		*c.s = T(v)
	case []byte:
		*c.s = T(v)
	default:
		return fmt.Errorf("scan text: unexpected %T", src)
	}
	return nil
}

// ScanText implements pgtype.TextScanner.
func (c textColumn[T]) ScanText(v pgtype.Text) error {
	*c.s = T(v.String)
	return nil
}

// intColumn scans a whole number; NULL is zero.
type intColumn[T int | int64] struct{ n *T }

func (c intColumn[T]) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c.n = 0
	case int64:
		*c.n = T(v)
	default:
		return fmt.Errorf("scan number: unexpected %T", src)
	}
	return nil
}

// ScanInt64 implements pgtype.Int64Scanner.
func (c intColumn[T]) ScanInt64(v pgtype.Int8) error {
	*c.n = T(v.Int64)
	return nil
}

// uuids is ids in the form that PostgreSQL's driver binds without asking each
// for its value.
func uuids(ids []postledger.ID) [][16]byte {
	out := make([][16]byte, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}

// rows calls scan for every row of a query that is no part of a transaction.
func (l *Ledger) rows(ctx context.Context, scan func(row) error, query string, args ...any) error {
	t := l.read()
	if l.dialect != postgres {
		return t.each(ctx, func(r *sql.Rows) error { return scan(r) }, query, args...)
	}
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		rows, err := c.(*stdlib.Conn).Conn().Query(ctx, t.bind(query), args...)
		if err != nil {
			return err
		}
		return scanAll(rows, scan)
	})
}
