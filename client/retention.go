package client

import (
	"context"
	"net/http"
)

// Retention says how many days things are kept, 1 to 3650 each.
type Retention struct {
	// ContentDays is for bodies, headers and attachments, after their message
	// has settled; at most RecordDays.
	ContentDays int `json:"content_days"`
	// RecordDays is for messages, deliveries and their history, after the
	// message has settled.
	RecordDays int `json:"record_days"`
	// KeyDays is for idempotency keys; at least RecordDays.
	KeyDays int `json:"key_days"`
	// AuditDays is for the audit trail.
	AuditDays int `json:"audit_days"`
}

// Retention reads the retention settings. Scope admin.
func (c *Client) Retention(ctx context.Context) (*Retention, error) {
	return ask[Retention](ctx, c, get("read retention", "/v1/settings/retention"))
}

// PutRetention sets them. Nothing that has not settled, and nothing unconfirmed
// that may still be resolved, is removed, whatever is set. Errors: ErrBadInput;
// scope admin.
func (c *Client) PutRetention(ctx context.Context, r Retention) (*Retention, error) {
	return ask[Retention](ctx, c, &call{
		op: "put retention", method: http.MethodPut, path: "/v1/settings/retention", repeatable: true, in: &r,
	})
}
