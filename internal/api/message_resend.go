package api

import (
	"context"
	"net/http"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// resendRequest asks for a message to be sent again, as a new one.
type resendRequest struct {
	Deliveries []postledger.ID `json:"deliveries,omitempty" given:"nonempty" doc:"Which to send again: settled ones, but not unconfirmed. All that failed, when left out."`
	Actor      actorRequest    `json:"actor,omitzero" doc:"Who caused it, as you name them."`
	Deadline   deadlineRequest `json:"deadline,omitzero" doc:"When it is not worth sending any more; the earlier deadline does not count."`
	Key        string          `json:"idempotency_key,omitempty" given:"nonempty" doc:"Makes a repetition harmless. The header Idempotency-Key means the same."`
}

type resendInput struct {
	MessageInput
	IdempotencyKey string `header:"Idempotency-Key" doc:"Makes a repetition harmless; bare, or a quoted structured-field string."`
}

func (s *server) resendRoute() {
	write(s, route{
		method: http.MethodPost, path: "/v1/messages/{id}/resend", id: "resend-message", tag: tagMessages,
		summary: "Send a message again",
		text:    "A new message with the same content, for the recipients that failed. Unconfirmed deliveries are resolved instead.",
		app:     postledger.ScopeSend, operator: postledger.ScopeAdmin, action: "message.resend", success: http.StatusAccepted,
		responses: map[string]string{},
		headers:   map[string]string{"Idempotent-Replayed": "true, when the answer is a replay."},
		codes:     []Code{codeMessageUnknown, codeMessageGone, Code(accept.CodeNotResendable), codeQuota},
	}, s.resend)
}

func (s *server) resend(ctx context.Context, c *call, in *resendInput, body *resendRequest) (*acceptedView, error) {
	key, err := c.oneKey(body.Key)
	if err != nil {
		return nil, err
	}
	rec, err := s.Acceptor.Resend(ctx, c.caller(), &accept.ResendRequest{
		Message: in.ID, Deliveries: body.Deliveries, Actor: postledger.Actor(body.Actor), Deadline: body.Deadline.Deadline, Key: key,
	})
	if err != nil {
		return nil, err
	}
	if rec.Replayed {
		c.w.Header().Set("Idempotent-Replayed", "true")
	}
	return &acceptedView{ID: rec.MessageID, Replayed: rec.Replayed, Removed: rec.Removed}, nil
}
