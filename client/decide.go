package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/postledger/postledger"
)

// Choice chooses the deliveries of a decision. Fields that are zero choose all,
// the others add up; but one that chooses nothing in particular is refused
// unless All is set. IDs that are empty but not nil choose nothing, and are
// refused too: a list that came out empty must not mean everyone.
type Choice struct {
	// All is needed when nothing else is set: all that the caller may see.
	All bool `json:"all,omitempty"`
	// App is for operators: an app's key sees its own only.
	App postledger.ID `json:"app,omitzero"`
	// Profile is a profile's name or id.
	Profile string `json:"profile,omitempty"`
	// IDs are deliveries, at most 1,000.
	IDs     []postledger.ID `json:"ids,omitzero"`
	Message postledger.ID   `json:"message,omitzero"`
	Batch   postledger.ID   `json:"batch,omitzero"`
	// RefID is the caller's own reference, if need be within RefScope.
	RefScope string          `json:"ref_scope,omitempty"`
	RefID    string          `json:"ref_id,omitempty"`
	Lane     postledger.Lane `json:"lane,omitempty"`
	// Since and Until bound acceptance: since <= created_at < until.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Recipient is a whole address, in any spelling.
	Recipient string `json:"recipient,omitempty"`
}

// Canceled says what a cancel did.
type Canceled struct {
	// Canceled were waiting and are canceled; their quota is given back.
	Canceled int `json:"canceled"`
	// OnTheWire are being sent, or were and are unconfirmed. The wish is noted:
	// the wire's outcome wins, what nobody accepted is canceled then, and
	// nothing unconfirmed is sent again.
	OnTheWire int `json:"on_the_wire"`
	// Unchanged had settled before.
	Unchanged int `json:"unchanged"`
	// More: it took too long for all that was chosen. Call it again.
	More bool `json:"more"`
}

// CancelMessage takes back what of a message has not left yet. Canceling twice
// does no harm. Errors: ErrMessageUnknown; scope send, or admin for operators.
func (c *Client) CancelMessage(ctx context.Context, id postledger.ID) (*Canceled, error) {
	return ask[Canceled](ctx, c, &call{
		op: "cancel message", method: http.MethodPost, path: at("/v1/messages", id.String()) + "/cancel", repeatable: true,
	})
}

// CancelBatch takes back what has not left yet of all messages of a batch.
// Errors: ErrMessageUnknown; scope send, or admin for operators.
func (c *Client) CancelBatch(ctx context.Context, id postledger.ID) (*Canceled, error) {
	return ask[Canceled](ctx, c, &call{
		op: "cancel batch", method: http.MethodPost, path: at("/v1/batches", id.String()) + "/cancel", repeatable: true,
	})
}

// Cancel takes back what has not left yet of all deliveries chosen. Errors:
// ErrBadInput, ErrFilterTooBroad; scope send, or admin for operators.
func (c *Client) Cancel(ctx context.Context, f Choice) (*Canceled, error) {
	return ask[Canceled](ctx, c, &call{
		op: "cancel deliveries", method: http.MethodPost, path: "/v1/messages/cancel", repeatable: true, in: &f,
	})
}

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
