package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/postledger/postledger"
)

// MaxBatch is how many messages a batch has at most.
const MaxBatch = 1000

// Batch is up to MaxBatch messages that are accepted together, in the bulk
// lane. Without attachments they have at most 32 MiB together, and with them,
// as base64, 64 MiB.
type Batch struct {
	// Profile is that of all messages; empty is the default profile. A message
	// may name the same one or none.
	Profile string
	// Actor is who sends the messages that name nobody.
	Actor postledger.Actor
	// Messages are sent in the bulk lane, and have no MessageID.
	Messages []*Message
	// Key is the idempotency key of the whole batch, at most 251 bytes, for the
	// messages without a key of their own; another batch under it is refused.
	// If it is empty, one is made for the call.
	Key string
}

// AcceptedBatch is the answer to a batch that is in the ledger.
type AcceptedBatch struct {
	// BatchID is zero when every message was a replay.
	BatchID postledger.ID `json:"batch_id"`
	// Replayed: every message was a replay.
	Replayed bool `json:"replayed"`
	// Messages are what became of each, in their order.
	Messages []AcceptedItem `json:"messages"`
	// Key is the idempotency key that the batch was sent with.
	Key string `json:"-"`
}

// AcceptedItem is what became of one message of a batch.
type AcceptedItem struct {
	ID postledger.ID `json:"id"`
	// BatchID is the batch it came in; of a replay, an earlier one.
	BatchID postledger.ID `json:"batch_id"`
	// Replayed: its key was known, and nothing new was written.
	Replayed bool `json:"replayed"`
	// Gone: its key is known and its message is not kept any more. Nothing is
	// sent.
	Gone bool `json:"gone"`
	// Removed names what the HTML filter took out; empty for a replay.
	Removed []string `json:"removed"`
}

// wireBatch is a batch on its way. Messages stand last: the server reads them
// one by one and has to know the rest before.
type wireBatch struct {
	Profile  string            `json:"profile,omitempty"`
	Key      string            `json:"idempotency_key,omitempty"`
	Actor    postledger.Actor  `json:"actor,omitzero"`
	Messages []json.RawMessage `json:"messages"`
}

// SendBatch submits up to MaxBatch messages together: all that are new are
// accepted, or none. Messages whose key is known are replays and say so. Like
// Send it is tried again under the same keys. For more messages use a
// BatchSender. The content of attachments is held in memory.
//
// Errors: those of Send, with Fields such as "messages[3].subject";
// ErrBacklogFull.
func (c *Client) SendBatch(ctx context.Context, b *Batch) (*AcceptedBatch, error) {
	const op = "send batch"
	switch {
	case b == nil:
		return nil, fmt.Errorf("%s: the batch is nil", op)
	case len(b.Messages) == 0 || len(b.Messages) > MaxBatch:
		return nil, fmt.Errorf("%s: messages: want 1 to %d, have %d", op, MaxBatch, len(b.Messages))
	}
	w := wireBatch{Profile: b.Profile, Key: b.Key, Actor: b.Actor}
	if w.Key == "" {
		w.Key = newKey()
	}
	for i, m := range b.Messages {
		text, err := encodeInline(m)
		if err != nil {
			return nil, fmt.Errorf("%s: messages[%d]: %w", op, i, err)
		}
		w.Messages = append(w.Messages, text)
	}
	out, err := c.sendBatch(ctx, op, &w, w.Key)
	if err != nil {
		return nil, err
	}
	out.Key = w.Key
	return out, nil
}

func (c *Client) sendBatch(ctx context.Context, op string, w *wireBatch, key string) (*AcceptedBatch, error) {
	out, err := ask[AcceptedBatch](ctx, c, &call{
		op: op, method: http.MethodPost, path: "/v1/batches", key: key, repeatable: true, in: w,
	})
	if err == nil && len(out.Messages) != len(w.Messages) {
		err = fmt.Errorf("%s: the answer has %d messages, the batch has %d", op, len(out.Messages), len(w.Messages))
	}
	return out, err
}

// inlineMessage is a message whose attachments have their content with them.
type inlineMessage struct {
	Message
	Attachments []inlineAttachment `json:"attachments,omitempty"`
}

type inlineAttachment struct {
	Attachment
	// Content is never left out: an empty file has content too.
	Content []byte `json:"content"`
}

// maxInline bounds the attachments of one message of a batch, in bytes: as
// base64 they fill the server's bound of a request.
const maxInline = 48 << 20

func encodeInline(m *Message) (json.RawMessage, error) {
	if m == nil {
		return nil, errNoMessage
	}
	w := inlineMessage{Message: *m}
	from, err := sources(m.Attachments)
	if err != nil {
		return nil, err
	}
	left := int64(maxInline)
	for i, s := range from {
		content, err := s.readAll(left)
		if err != nil {
			return nil, err
		}
		left -= int64(len(content))
		w.Attachments = append(w.Attachments, inlineAttachment{m.Attachments[i], content})
	}
	return encode(&w)
}

// readAll reads the content into memory.
func (s *source) readAll(limit int64) ([]byte, error) {
	r, err := s.content()
	if err != nil {
		return nil, fmt.Errorf("open attachment %q: %w", s.name, err)
	}
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if closing := r.Close(); err == nil {
		err = closing
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read attachment %q: %w", s.name, err)
	case int64(len(b)) > limit:
		return nil, fmt.Errorf("attachment %q: the files of one message of a batch are larger than %d bytes together", s.name, maxInline)
	default:
		return b, nil
	}
}
