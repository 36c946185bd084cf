package api

import (
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// messageRequest is one message as an application submits it.
type messageRequest struct {
	Profile     string              `json:"profile,omitempty" given:"nonempty" doc:"The profile to send as; the default one when left out."`
	To          []recipientRequest  `json:"to,omitempty" doc:"At least one recipient is needed in to, cc and bcc together, and at most 50."`
	Cc          []recipientRequest  `json:"cc,omitempty"`
	Bcc         []recipientRequest  `json:"bcc,omitempty" doc:"Recipients that no header shows."`
	Subject     string              `json:"subject,omitempty" doc:"At most 998 bytes, without line breaks." example:"Your order 4711"`
	Text        string              `json:"text,omitempty" doc:"The plain text body. Text and HTML together have at most 10 MiB."`
	HTML        string              `json:"html,omitempty" doc:"The HTML body. It is sanitised unless the app's grant trusts it; the answer names what was removed."`
	Headers     []headerRequest     `json:"headers,omitempty" doc:"Header fields of your own, at most 50. Reserved fields are refused."`
	FromName    string              `json:"from_name,omitempty" doc:"Replaces the display name of the profile's From."`
	ReplyTo     []mailboxRequest    `json:"reply_to,omitempty"`
	Lane        postledger.Lane     `json:"lane,omitempty" enum:"immediate,bulk" doc:"immediate when left out. Messages of a batch are always bulk."`
	Category    postledger.Category `json:"category,omitempty" enum:"system,platform,activity,marketing" doc:"system when left out. Marketing is refused until consent is kept."`
	Ref         refRequest          `json:"ref,omitzero" doc:"Your own name for what the message is about; messages can be found by it."`
	Tenant      string              `json:"tenant,omitempty"`
	Locale      string              `json:"locale,omitempty" doc:"A language tag (RFC 5646)." example:"de-CH"`
	Actor       actorRequest        `json:"actor,omitzero" doc:"Who caused the message, as you name them."`
	SendAt      time.Time           `json:"send_at,omitzero" doc:"When it is due; now when left out. At most 366 days ahead."`
	Deadline    deadlineRequest     `json:"deadline,omitzero" doc:"When it is not worth sending any more: a time, or seconds from when it is due. It passes also while the profile is paused."`
	MessageID   string              `json:"message_id,omitempty" doc:"Your own RFC 5322 Message-ID; for single messages only."`
	Attachments []attachmentRequest `json:"attachments,omitempty" doc:"At most 50 files."`
	Key         string              `json:"idempotency_key,omitempty" given:"nonempty" doc:"Makes a repetition harmless: of requests with the same key one is accepted, and the others get its answer. The header Idempotency-Key means the same. At most 255 bytes."`
}

// recipientRequest is one address.
type recipientRequest struct {
	Address string `json:"address" example:"ada@example.org"`
	Name    string `json:"name,omitempty" example:"Ada Lovelace"`
}

type headerRequest struct {
	Name  string `json:"name" example:"X-Order"`
	Value string `json:"value" example:"4711"`
}

type mailboxRequest struct {
	Name    string `json:"name,omitempty"`
	Address string `json:"address"`
}

type refRequest struct {
	Scope string `json:"scope,omitempty" example:"order"`
	ID    string `json:"id,omitempty" example:"4711"`
}

type actorRequest struct {
	Type string `json:"type,omitempty" example:"user"`
	ID   string `json:"id,omitempty" example:"17"`
	Name string `json:"name,omitempty"`
}

type attachmentRequest struct {
	Name        string `json:"name,omitempty" example:"invoice.pdf"`
	ContentType string `json:"content_type,omitempty" doc:"application/octet-stream when left out." example:"application/pdf"`
	Disposition string `json:"disposition,omitempty" enum:"attachment,inline" doc:"attachment when left out."`
	ContentID   string `json:"content_id,omitempty" doc:"What HTML refers to as cid:…."`
	Method      string `json:"method,omitempty" doc:"The iTIP method of a text/calendar file, such as REQUEST."`
	Size        *int64 `json:"size,omitempty" doc:"If given, other content is refused."`
	SHA256      string `json:"sha256,omitempty" given:"nonempty" doc:"64 hexadecimal digits. If given, other content is refused."`
	Content     []byte `json:"content,omitempty" doc:"The file in base64. Left out in multipart requests, whose parts bring it."`
}

// deadlineRequest is a moment or a span.
type deadlineRequest struct{ accept.Deadline }

// Schema shows both forms.
func (deadlineRequest) Schema(huma.Registry) *huma.Schema {
	least := 1.0
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeString, Format: "date-time"},
		{Type: huma.TypeInteger, Minimum: &least, Description: "Seconds from when the message is due."},
	}}
}

func (deadlineRequest) describe() string {
	return "a time such as 2026-01-31T12:00:00Z (RFC 3339) or a whole number of seconds"
}

// request is the message as the step that accepts takes it.
func (m *messageRequest) request() *accept.Request {
	r := &accept.Request{
		Profile: m.Profile, To: recipients(m.To), Cc: recipients(m.Cc), Bcc: recipients(m.Bcc),
		Subject: m.Subject, Text: m.Text, HTML: m.HTML, FromName: m.FromName,
		Lane: m.Lane, Category: m.Category, Ref: accept.Ref(m.Ref), Tenant: m.Tenant, Locale: m.Locale,
		Actor: postledger.Actor(m.Actor), SendAt: m.SendAt, Deadline: m.Deadline.Deadline, MessageID: m.MessageID, Key: m.Key,
	}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, postledger.Header(h))
	}
	for _, b := range m.ReplyTo {
		r.ReplyTo = append(r.ReplyTo, postledger.Mailbox(b))
	}
	for _, a := range m.Attachments {
		r.Attachments = append(r.Attachments, accept.Attachment{
			Name: a.Name, ContentType: a.ContentType, Disposition: a.Disposition, ContentID: a.ContentID,
			Method: a.Method, Size: a.Size, SHA256: a.SHA256, Data: a.Content,
		})
	}
	return r
}

func recipients(list []recipientRequest) []accept.Recipient {
	if list == nil {
		return nil
	}
	out := make([]accept.Recipient, len(list))
	for i, r := range list {
		out[i] = accept.Recipient(r)
	}
	return out
}
