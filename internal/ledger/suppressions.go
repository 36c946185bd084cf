package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postledger/postledger"
)

// Suppression: the app does not send to this address.
type Suppression struct {
	AppID         postledger.ID
	AddressFolded string
	Reason        string
	// Source is who put it there: an operator, the app, a report.
	Source    string
	CreatedAt time.Time
}

// ErrNotSuppressed: the address is not on the app's list.
var ErrNotSuppressed = errors.New("the address is not suppressed")

// PutSuppression puts an address on an app's list. One that is there already
// keeps its time and takes the new reason and source.
func (l *Ledger) PutSuppression(ctx context.Context, s Suppression, audit postledger.AuditEvent) error {
	return l.audited(ctx, "put suppression", audit, func(ctx context.Context, t *tx, now int64) error {
		_, err := t.exec(ctx, `INSERT INTO suppressions (app_id, address_folded, reason, source, created_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (app_id, address_folded) DO UPDATE SET reason = excluded.reason, source = excluded.source`,
			s.AppID, s.AddressFolded, s.Reason, s.Source, now)
		return err
	})
}

// DeleteSuppression takes an address off an app's list.
func (l *Ledger) DeleteSuppression(ctx context.Context, app postledger.ID, folded string, audit postledger.AuditEvent) error {
	return l.audited(ctx, "delete suppression", audit, func(ctx context.Context, t *tx, _ int64) error {
		n, err := t.exec(ctx, `DELETE FROM suppressions WHERE app_id = ? AND address_folded = ?`, app, folded)
		if err == nil && n == 0 {
			return ErrNotSuppressed
		}
		return err
	})
}

// Suppressions lists an app's list in address order, after an address ("" from
// the start).
func (l *Ledger) Suppressions(ctx context.Context, app postledger.ID, after string, limit int) ([]Suppression, error) {
	var out []Suppression
	err := l.read().each(ctx, func(rows *sql.Rows) error {
		s := Suppression{AppID: app}
		err := rows.Scan(&s.AddressFolded, &s.Reason, &s.Source, timeColumn{&s.CreatedAt})
		out = append(out, s)
		return err
	}, `SELECT address_folded, reason, source, created_at FROM suppressions
		WHERE app_id = ? AND address_folded > ? ORDER BY address_folded LIMIT ?`, app, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list suppressions: %w", err)
	}
	return out, nil
}

// AppAddress is an address an app would send to.
type AppAddress struct {
	AppID         postledger.ID
	AddressFolded string
}

// suppressedChunk bounds one statement of SQLite; PostgreSQL takes arrays.
const suppressedChunk = 200

// Suppressed says which of the addresses are on their app's list, and why. It
// is one look-up by primary key each, in one statement for all (on SQLite for
// each 200).
func (l *Ledger) Suppressed(ctx context.Context, addresses []AppAddress) (map[AppAddress]string, error) {
	out := map[AppAddress]string{}
	t := l.read()
	scan := func(rows *sql.Rows) error {
		var a AppAddress
		var reason string
		err := rows.Scan(&a.AppID, &a.AddressFolded, &reason)
		out[a] = reason
		return err
	}
	const columns = `SELECT s.app_id, s.address_folded, s.reason FROM suppressions s `
	var err error
	if t.dialect == postgres && len(addresses) > 0 {
		apps, folded := make([]postledger.ID, len(addresses)), make([]string, len(addresses))
		for i, a := range addresses {
			apps[i], folded[i] = a.AppID, a.AddressFolded
		}
		err = t.each(ctx, scan, columns+`JOIN unnest($1::uuid[], $2::text[]) AS q(app_id, address_folded)
			ON s.app_id = q.app_id AND s.address_folded = q.address_folded`, apps, folded)
	} else {
		for chunk := range slices.Chunk(addresses, suppressedChunk) {
			args := make([]any, 0, 2*len(chunk))
			for _, a := range chunk {
				args = append(args, a.AppID, a.AddressFolded)
			}
			values := strings.TrimSuffix(strings.Repeat("(?,?),", len(chunk)), ",")
			if err = t.each(ctx, scan, columns+`WHERE (s.app_id, s.address_folded) IN (VALUES `+values+`)`, args...); err != nil {
				break
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("look up suppressions: %w", err)
	}
	return out, nil
}
