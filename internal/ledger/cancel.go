package ledger

import (
	"context"
	"fmt"

	"github.com/postledger/postledger"
)

// Canceled says what a cancel did to one delivery.
type Canceled struct {
	// Status is the delivery's state afterwards; "" when there is none.
	Status postledger.Status
	// Done: it was queued and is canceled.
	Done bool
	// Wished: it is on the wire, whose outcome wins, or unconfirmed, where
	// the wish forbids any resend.
	Wished bool
}

// Cancel takes deliveries back. A queued one is canceled and its quota given
// back; on one that is sending or unconfirmed the wish is noted; others are
// left alone. All in one transaction.
func (l *Ledger) Cancel(ctx context.Context, ids []postledger.ID, reason postledger.Reason, actor string) ([]Canceled, error) {
	var out []Canceled
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		now, err := t.nowMicros(ctx)
		if err != nil {
			return err
		}
		rows, err := lockDeliveries(ctx, t, ids)
		if err != nil {
			return err
		}
		out = make([]Canceled, len(ids))
		var ss []Settlement
		var at []int
		for i, id := range ids {
			r := rows[id]
			if r == nil {
				continue
			}
			out[i].Status = r.status
			switch r.status {
			case postledger.StatusQueued:
				ss = append(ss, Settlement{
					ID: id, Mover: postledger.MoverSweep, To: postledger.StatusCanceled, Fence: AnyFence, Reason: reason,
					Event: &Event{Kind: "canceled", Actor: actor},
				})
				at = append(at, i)
			case postledger.StatusSending, postledger.StatusUnconfirmed:
				if _, err := t.exec(ctx, `UPDATE deliveries SET cancel_requested_at = coalesce(cancel_requested_at, ?),
						reason = CASE WHEN status = 'sending' THEN ? ELSE reason END WHERE id = ?`, now, string(reason), id); err != nil {
					return err
				}
				out[i].Wished = true
			}
		}
		done, err := settle(ctx, t, l, ss)
		for j := range done {
			out[at[j]].Done, out[at[j]].Status = done[j].Applied, done[j].Status
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cancel deliveries: %w", err)
	}
	return out, nil
}
