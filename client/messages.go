package client

import (
	"context"
	"iter"

	"github.com/postledger/postledger"
)

// WholeMessage is a message with its deliveries and their history.
type WholeMessage struct {
	StoredMessage
	Deliveries []DeliveryHistory `json:"deliveries"`
}

// DeliveryHistory is a delivery and what happened to it, in order of time.
type DeliveryHistory struct {
	Delivery
	Events []Event `json:"events"`
}

// Message reads a message with its deliveries and their history, but without
// its content. Errors: ErrMessageUnknown; scope read, or admin for operators.
func (c *Client) Message(ctx context.Context, id postledger.ID) (*WholeMessage, error) {
	return ask[WholeMessage](ctx, c, get("read message", at("/v1/messages", id.String())))
}

// Content is what retention removes of a message.
type Content struct {
	Text string `json:"text"`
	// HTML is what is sent: after the filter, if the app's HTML is filtered.
	HTML        string               `json:"html"`
	Headers     []postledger.Header  `json:"headers"`
	FromName    string               `json:"from_name"`
	ReplyTo     []postledger.Mailbox `json:"reply_to"`
	Attachments []AttachedFile       `json:"attachments"`
}

// AttachedFile describes a stored attachment.
type AttachedFile struct {
	Name        string `json:"name"`
	ContentType string `json:"content_type"`
	Disposition string `json:"disposition"`
	ContentID   string `json:"content_id"`
	Method      string `json:"method"`
	// Size is in bytes.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// MessageContent reads a message's bodies, headers and what is known of its
// files. Each use stands in the audit trail. Errors: ErrMessageUnknown,
// ErrMessageGone; scope content.
func (c *Client) MessageContent(ctx context.Context, id postledger.ID) (*Content, error) {
	return ask[Content](ctx, c, get("read content", at("/v1/messages", id.String())+"/content"))
}

// Messages lists messages, newest first, with the state of each. Errors:
// ErrBadInput, ErrFilterTooBroad; scope read, or admin for operators.
func (c *Client) Messages(ctx context.Context, f MessageFilter) iter.Seq2[StoredMessage, error] {
	return pages[StoredMessage](ctx, c, "list messages", "/v1/messages", f.query())
}

// ListedDelivery is a delivery with what a list shows of its message.
type ListedDelivery struct {
	Delivery
	Subject string        `json:"subject"`
	BatchID postledger.ID `json:"batch_id"`
	Ref     Ref           `json:"ref"`
}

// Deliveries lists deliveries, one for each recipient, newest first; those of a
// batch or a reference come message by message. Errors: ErrBadInput,
// ErrFilterTooBroad; scope read, or admin for operators.
func (c *Client) Deliveries(ctx context.Context, f DeliveryFilter) iter.Seq2[ListedDelivery, error] {
	return pages[ListedDelivery](ctx, c, "list deliveries", "/v1/deliveries", f.query())
}
