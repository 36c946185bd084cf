package ledger

import (
	"context"
	"slices"

	"github.com/postledger/postledger"
)

const settleColumns = `SELECT id, message_id, app_id, profile_id, lease_worker, envelope_id, lane, status, reason, fence,
	attempts, uncharged, created_at, coalesce(first_charged_at, 0), coalesce(cancel_requested_at, 0), resent, response, provider_id
	FROM deliveries `

func scanSettleRow(from row, r *settleRow) error {
	return from.Scan(idColumn{&r.id}, idColumn{&r.message}, idColumn{&r.app}, idColumn{&r.profile},
		idColumn{&r.owner}, idColumn{&r.envelope}, &r.lane, &r.status, &r.reason, &r.fence,
		&r.attempts, &r.uncharged, &r.created, &r.firstCharged, &r.canceled, &r.resent, &r.response, &r.providerID)
}

// lockDeliveries reads the rows by primary key and locks them in id order, as
// every transaction that takes several does. It reads the transaction's moment
// on the way.
func lockDeliveries(ctx context.Context, t *tx, ids []postledger.ID) (map[postledger.ID]*settleRow, error) {
	out := make(map[postledger.ID]*settleRow, len(ids))
	scan := func(from row) error {
		r := new(settleRow)
		err := scanSettleRow(from, r)
		out[r.id] = r
		return err
	}
	const what = "lock deliveries"
	if t.dialect == postgres {
		t.queueNow()
		sorted := slices.Clone(ids)
		slices.SortFunc(sorted, compareIDs)
		t.queueRead(what, scan, settleColumns+`WHERE id = ANY($1) ORDER BY id FOR UPDATE`, sorted)
		return out, t.flush(ctx)
	}
	for _, id := range ids {
		t.queueRead(what, scan, settleColumns+`WHERE id = ?`, id)
	}
	return out, t.flush(ctx)
}
