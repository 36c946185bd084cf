package ledger

import (
	"context"
	"database/sql"
	"slices"

	"github.com/postledger/postledger"
)

const settleColumns = `SELECT id, message_id, app_id, profile_id, lease_worker, envelope_id, lane, status, reason, fence,
	attempts, uncharged, created_at, coalesce(first_charged_at, 0), coalesce(cancel_requested_at, 0), resent, response, provider_id
	FROM deliveries `

func scanSettleRow(rows *sql.Rows, r *settleRow) error {
	return rows.Scan(&r.id, &r.message, &r.app, &r.profile, &r.owner, &r.envelope, &r.lane, &r.status, &r.reason, &r.fence,
		&r.attempts, &r.uncharged, &r.created, &r.firstCharged, &r.canceled, &r.resent, &r.response, &r.providerID)
}

// lockDeliveries reads the rows by primary key and locks them in id order, as
// every transaction that takes several does.
func lockDeliveries(ctx context.Context, t *tx, ids []postledger.ID) (map[postledger.ID]*settleRow, error) {
	out := make(map[postledger.ID]*settleRow, len(ids))
	scan := func(rows *sql.Rows) error {
		r := new(settleRow)
		err := scanSettleRow(rows, r)
		out[r.id] = r
		return err
	}
	if t.dialect == postgres {
		sorted := slices.Clone(ids)
		slices.SortFunc(sorted, compareIDs)
		return out, t.each(ctx, scan, settleColumns+`WHERE id = ANY($1) ORDER BY id FOR UPDATE`, sorted)
	}
	for _, id := range ids {
		if err := t.each(ctx, scan, settleColumns+`WHERE id = ?`, id); err != nil {
			return nil, err
		}
	}
	return out, nil
}
