package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/postledger/postledger"
)

// Resending asks for a message to be sent again.
type Resending struct {
	// Deliveries are those to send again: settled ones, but not unconfirmed. Nil
	// means all that failed; a list that is empty but not nil is refused.
	Deliveries []postledger.ID `json:"deliveries,omitzero"`
	// Actor is who caused it, as the caller names them.
	Actor postledger.Actor `json:"actor,omitzero"`
	// Deadline is when it is not worth sending any more; the earlier message's
	// does not count.
	Deadline Deadline `json:"deadline,omitzero"`
	// Key is as in Message.
	Key string `json:"idempotency_key,omitempty"`
}

// ResendMessage sends a message's content again, as a new message, to the
// recipients that failed or that are named. Unconfirmed deliveries are resolved
// instead: their recipients may have the message. It is tried again under one
// key, as Send is. Errors: those of Send, ErrMessageUnknown, ErrMessageGone,
// ErrNotResendable, ErrAttachmentLost; scope send, or admin for operators.
func (c *Client) ResendMessage(ctx context.Context, id postledger.ID, r Resending) (*Accepted, error) {
	const op = "resend message"
	if r.Deliveries != nil && len(r.Deliveries) == 0 {
		return nil, fmt.Errorf("%s: %w", op, errNoDeliveries)
	}
	if r.Key == "" {
		r.Key = newKey()
	}
	out, err := ask[Accepted](ctx, c, &call{
		op: op, method: http.MethodPost, path: at("/v1/messages", id.String()) + "/resend",
		key: r.Key, repeatable: true, in: &r,
	})
	if err != nil {
		return nil, err
	}
	out.Key = r.Key
	return out, nil
}

var errNoDeliveries = errors.New("deliveries: the list is empty; nil means all that failed")
