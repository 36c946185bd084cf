package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/postledger/postledger"
)

// Check is what may have changed since a delivery was leased.
type Check struct {
	// Canceled is the reason of a wish to cancel it; "" when nobody wished.
	Canceled   postledger.Reason
	Suppressed bool
}

// Recheck asks again what the gates go by.
func (l *Ledger) Recheck(ctx context.Context, ids []postledger.ID) (map[postledger.ID]Check, error) {
	out := make(map[postledger.ID]Check, len(ids))
	t := l.read()
	where, args := t.anyOf("d.id", ids)
	err := t.each(ctx, func(rows *sql.Rows) error {
		var id postledger.ID
		var c Check
		var reason postledger.Reason
		var wished bool
		err := rows.Scan(&id, &reason, &wished, &c.Suppressed)
		if wished {
			c.Canceled = cancelReason(reason)
		}
		out[id] = c
		return err
	}, `SELECT d.id, d.reason, d.cancel_requested_at IS NOT NULL,
			EXISTS (SELECT 1 FROM suppressions s WHERE s.app_id = d.app_id AND s.address_folded = d.address_folded)
		FROM deliveries d WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("check deliveries: %w", err)
	}
	return out, nil
}
