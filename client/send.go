package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/postledger/postledger"
)

// MaxWait is the longest Wait.
const MaxWait = 30 * time.Second

// Accepted is the answer to a message that is in the ledger: from here on each
// of its recipients gets a state and a reason, whatever happens.
type Accepted struct {
	ID postledger.ID `json:"id"`
	// BatchID is the batch it came in; zero for a single message.
	BatchID postledger.ID `json:"batch_id"`
	// Replayed: the key was known. This is the answer to the request that used
	// it first, and nothing new was written.
	Replayed bool `json:"replayed"`
	// Removed names what the HTML filter took out; empty for a replay.
	Removed []string `json:"removed"`
	// Summary is how far it has come, if it was waited for; else it is empty.
	Summary
	// Key is the idempotency key that the message was sent with.
	Key string `json:"-"`
}

// SendOption changes one Send.
type SendOption func(*sending) error

type sending struct{ wait time.Duration }

// Wait asks the server to answer only when each delivery has settled or was
// deferred once, or the time has passed: the answer then has the states. It is
// for immediate messages that are due now, 1 s to MaxWait, in whole seconds
// (rounded up). The message is accepted before the waiting begins.
func Wait(d time.Duration) SendOption {
	return func(s *sending) error {
		if d <= 0 || d > MaxWait {
			return fmt.Errorf("wait: want more than 0 and at most %s", MaxWait)
		}
		s.wait = d
		return nil
	}
}

// prefer is the header of RFC 7240 §4.3.
func (s *sending) prefer(h http.Header) {
	if s.wait > 0 {
		h.Set("Prefer", "wait="+strconv.Itoa(int((s.wait-1)/time.Second)+1))
	}
}

var errNoMessage = errors.New("the message is nil")

// Send submits one message. Its error is nil when the message is in the ledger:
// accepted, not sent yet. It does not change m.
//
// It is tried as often as the Retry policy says, always under the same key, so
// it is accepted once at most. When it fails, what is known is:
//
//   - an *Error without FateUnknown: it was not accepted;
//   - a *NoAnswerError, or an *Error with FateUnknown: it may have been. Send it
//     again with Message.Key = KeyOf(err), also much later (keys are kept 90
//     days unless set), and it will not be sent twice.
//
// Errors: ErrBadInput, ErrProfileRequired, ErrProfileUnknown,
// ErrProfileNotAllowed, ErrProfileRemoved, ErrQuotaExceeded, ErrRateExceeded,
// ErrAttachmentsTooLarge, ErrAttachmentStorageFull, ErrCategoryNeedsConsent,
// ErrIdempotencyMismatch, ErrIdempotencyInProgress, ErrMessageGone,
// ErrMailUnavailable, ErrOverloaded; *OnceError.
func (c *Client) Send(ctx context.Context, m *Message, opts ...SendOption) (*Accepted, error) {
	cl, err := sendCall(m, opts)
	if err != nil {
		return nil, fmt.Errorf("send message: %w", err)
	}
	out, err := ask[Accepted](ctx, c, cl)
	if err != nil {
		return nil, err
	}
	out.Key = cl.key
	return out, nil
}

func sendCall(m *Message, opts []SendOption) (*call, error) {
	if m == nil {
		return nil, errNoMessage
	}
	var s sending
	for _, o := range opts {
		if err := o(&s); err != nil {
			return nil, err
		}
	}
	msg := *m
	if msg.Key == "" {
		msg.Key = newKey()
	}
	cl := &call{
		op: "send message", method: http.MethodPost, path: "/v1/messages",
		header: http.Header{}, key: msg.Key, repeatable: true, in: &msg,
	}
	s.prefer(cl.header)
	if len(msg.Attachments) == 0 {
		return cl, nil
	}
	from, err := sources(msg.Attachments)
	if err != nil {
		return nil, err
	}
	text, err := encode(&msg)
	if err != nil {
		return nil, err
	}
	cl.in, cl.body = nil, func() (content, error) { return newMultipart(text, msg.Attachments, from) }
	return cl, nil
}
