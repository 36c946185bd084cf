package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/postledger/postledger"
)

// deliveryColumns are all columns of a delivery, in deliveryDest's order.
const deliveryColumns = `d.id, d.message_id, d.envelope_id, d.app_id, d.profile_id, d.lane, d.kind, d.position,
	d.address, d.address_folded, d.display_name, d.recipient_key, d.status, d.reason, d.fence, d.attempts,
	d.created_at, d.due_at, d.leased_at, d.first_charged_at, d.expires_at, d.dated_at, d.cancel_requested_at,
	d.sent_at, d.settled_at, d.resolve_by, d.provider_id, d.response, d.resent`

// deliveryDest is where deliveryColumns scan to.
func deliveryDest(d *postledger.Delivery) []any {
	return []any{
		&d.ID, &d.MessageID, &d.EnvelopeID, &d.AppID, &d.ProfileID, &d.Lane, &d.Kind, &d.Position,
		&d.Address, &d.AddressFolded, &d.DisplayName, &d.RecipientKey, &d.Status, &d.Reason, &d.Fence, &d.Attempts,
		timeColumn{&d.CreatedAt},
		timeColumn{&d.DueAt},
		timeColumn{&d.LeasedAt},
		timeColumn{&d.FirstChargedAt},
		timeColumn{&d.ExpiresAt},
		timeColumn{&d.DatedAt},
		timeColumn{&d.CancelRequestedAt},
		timeColumn{&d.SentAt},
		timeColumn{&d.SettledAt},
		timeColumn{&d.ResolveBy},
		&d.ProviderID, &d.Response, &d.Resent,
	}
}

// DeliveryByID reads one row.
func (l *Ledger) DeliveryByID(ctx context.Context, id postledger.ID) (postledger.Delivery, bool, error) {
	ds, err := l.deliveries(ctx, `WHERE d.id = ?`, id)
	if err != nil || len(ds) == 0 {
		return postledger.Delivery{}, false, err
	}
	return ds[0], true, nil
}

// DeliveriesOf reads a message's rows in recipient order.
func (l *Ledger) DeliveriesOf(ctx context.Context, message postledger.ID) ([]postledger.Delivery, error) {
	return l.deliveries(ctx, `WHERE d.message_id = ? ORDER BY d.position LIMIT 1000`, message)
}

func (l *Ledger) deliveries(ctx context.Context, where string, args ...any) ([]postledger.Delivery, error) {
	var out []postledger.Delivery
	err := l.read().each(ctx, func(rows *sql.Rows) error {
		var d postledger.Delivery
		err := rows.Scan(deliveryDest(&d)...)
		out = append(out, d)
		return err
	}, `SELECT `+deliveryColumns+` FROM deliveries d `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	return out, nil
}
