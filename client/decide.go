package client

import (
	"context"
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
	// Reason is why they are in their state, such as ReasonRestored; of those to
	// resolve it is ReasonNoAnswer, ReasonWorkerLost or ReasonRestored.
	Reason postledger.Reason `json:"reason,omitempty"`
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

// Resolution is what is decided about unconfirmed deliveries.
type Resolution string

const (
	// ResolveSent: they count as sent.
	ResolveSent Resolution = "sent"
	// ResolveResend: the same deliveries leave again, with the Message-ID and
	// Date they had. A recipient may get a second copy.
	ResolveResend Resolution = "resend"
)

// Resolved says what a resolution did.
type Resolved struct {
	// Resolved were moved.
	Resolved int `json:"resolved"`
	// Unchanged may not move: somebody wished to cancel them, or they were
	// decided about meanwhile.
	Unchanged int `json:"unchanged"`
	// More: it took too long for all that was chosen. Call it again.
	More bool `json:"more"`
}

// Resolve decides about the unconfirmed ones of the deliveries chosen: their
// final dot left and no answer is known, so only a person who knows more can say
// whether they were taken. ResolveResend is not repeated by itself when its
// answer is lost: what it sent again may be unconfirmed again by then. Errors:
// ErrBadInput, ErrFilterTooBroad; scope admin.
func (c *Client) Resolve(ctx context.Context, r Resolution, f Choice) (*Resolved, error) {
	in := struct {
		Action Resolution `json:"action"`
		Filter *Choice    `json:"filter"`
	}{r, &f}
	return ask[Resolved](ctx, c, &call{
		op: "resolve deliveries", method: http.MethodPost, path: "/v1/deliveries/resolve", repeatable: r == ResolveSent, in: in,
	})
}
