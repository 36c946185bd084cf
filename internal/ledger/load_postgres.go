package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/postledger/postledger"
)

// bodyPiece is how much of a body comes in one row. PostgreSQL's driver keeps
// a whole row in a buffer of the next power of two, and the buffer for the next
// large row: of 9 MB that would be 16 MiB beside the text, again and again.
const bodyPiece = 256 << 10

// bodyColumns are a content's bodies, or only that it is there, when more is
// asked for than one row should hold.
func (l *Ledger) bodyColumns(maxContent int64) (columns string, large bool) {
	if l.dialect != postgres || maxContent <= bodyPiece {
		return "c.text_body, c.html_body", false
	}
	return "CASE WHEN c.message_id IS NOT NULL THEN '' END, ''", true
}

// Where bodies are, for loadBodies.
const (
	ownBodies    = `contents WHERE message_id = ?`
	sharedBodies = `shared_bodies WHERE id = ?`
)

// loadBodies reads bodies piece by piece.
func (l *Ledger) loadBodies(ctx context.Context, from string, id postledger.ID) (text, html string, found bool, err error) {
	var b strings.Builder
	at := 0 // where the HTML begins
	err = l.rows(ctx, func(r row) error {
		var size int
		var piece pgtype.DriverBytes
		if err := r.Scan(&at, &size, &piece); err != nil {
			return err
		}
		if !found {
			found = true
			b.Grow(size)
		}
		b.Write(piece)
		return nil
	}, `WITH c AS MATERIALIZED (
			SELECT convert_to(text_body, 'UTF8') AS text_body, convert_to(html_body, 'UTF8') AS html_body
			FROM `+from+`),
		b AS MATERIALIZED (SELECT octet_length(text_body) AS text_size, text_body || html_body AS body FROM c)
		SELECT text_size, octet_length(body), substr(body, at, ?::int)
		FROM b, generate_series(1, greatest(octet_length(body), 1), ?::int) AS at ORDER BY at`,
		id, bodyPiece, bodyPiece)
	if err != nil {
		return "", "", false, fmt.Errorf("load bodies: %w", err)
	}
	return b.String()[:at], b.String()[at:], found, nil
}
