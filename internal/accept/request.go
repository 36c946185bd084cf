package accept

import (
	"io"
	"time"

	"github.com/postledger/postledger"
)

// Caller is who makes a request. It comes from authentication, never from the
// request's own text.
type Caller struct {
	App       postledger.ID
	APIKey    postledger.ID
	RequestID string
}

// Request is one message as an application submits it. Whoever decodes it
// refuses members that are not listed here: a misspelt field would otherwise
// be lost without a word.
type Request struct {
	// Profile names the identity to send as; empty is the default profile.
	Profile string      `json:"profile,omitempty"`
	To      []Recipient `json:"to,omitempty"`
	Cc      []Recipient `json:"cc,omitempty"`
	Bcc     []Recipient `json:"bcc,omitempty"`
	Subject string      `json:"subject,omitempty"`
	Text    string      `json:"text,omitempty"`
	HTML    string      `json:"html,omitempty"`
	// Headers are fields of the caller's own, in order.
	Headers []postledger.Header `json:"headers,omitempty"`
	// FromName replaces the display name of the profile's From.
	FromName string               `json:"from_name,omitempty"`
	ReplyTo  []postledger.Mailbox `json:"reply_to,omitempty"`
	// Lane is immediate when empty; messages of a batch are always bulk.
	Lane postledger.Lane `json:"lane,omitempty"`
	// Category is system when empty.
	Category postledger.Category `json:"category,omitempty"`
	// Ref is the caller's own name for what the message is about.
	Ref    Ref              `json:"ref,omitzero"`
	Tenant string           `json:"tenant,omitempty"`
	Locale string           `json:"locale,omitempty"`
	Actor  postledger.Actor `json:"actor,omitzero"`
	// SendAt is when it is due; zero, or a moment that has passed, is now.
	SendAt time.Time `json:"send_at,omitzero"`
	// Deadline is when it is not worth sending any more.
	Deadline Deadline `json:"deadline,omitzero"`
	// MessageID is the caller's own RFC 5322 Message-ID, with or without angle
	// brackets; not for messages of a batch.
	MessageID   string       `json:"message_id,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	// Key makes a repetition of the request harmless (invariant 1).
	Key string `json:"idempotency_key,omitempty"`
}

// Recipient is one address of a message.
type Recipient struct {
	Address string `json:"address"`
	Name    string `json:"name,omitempty"`
}

// Ref is an object of the caller's, such as an order.
type Ref struct {
	Scope string `json:"scope,omitempty"`
	ID    string `json:"id,omitempty"`
}

// Attachment is one file of a message. Its content is either Data or what Open
// yields.
type Attachment struct {
	Name string `json:"name,omitempty"`
	// ContentType is application/octet-stream when empty.
	ContentType string `json:"content_type,omitempty"`
	// Disposition is attachment (also when empty) or inline.
	Disposition string `json:"disposition,omitempty"`
	// ContentID is what HTML refers to as cid:….
	ContentID string `json:"content_id,omitempty"`
	// Method makes a text/calendar file an invitation (RFC 6047 §2.4).
	Method string `json:"method,omitempty"`
	// Size and SHA256 (64 hexadecimal digits) are optional; content that
	// differs from them refuses the request.
	Size   *int64 `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Data is the content itself, in base64.
	Data []byte `json:"content,omitempty"`
	// Open yields the content as a stream. It is called at most once, for the
	// attachments in their order, and not before the one ahead of it was read
	// to its end and closed: the parts of a multipart body can be read as they
	// come. It is not called at all when the request is a known one.
	Open func() (io.ReadCloser, error) `json:"-"`
}
