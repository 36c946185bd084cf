package client

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/postledger/postledger"
)

// Message is what is to be sent. To, Cc and Bcc together name 1 to 50
// recipients, each once; Subject has at most 998 bytes, Text and HTML together
// at most 10 MiB, and one of them, or an attachment, is there. Names, Ref,
// Tenant and Actor fields have at most 255 bytes each.
//
// Bytes that do not belong into a header (CR, LF, NUL and other controls)
// refuse the message; nothing is stripped. HTML is filtered unless the app's
// grant trusts it: Accepted.Removed says what went.
type Message struct {
	// Profile names the identity to send as; empty is the default profile.
	Profile string      `json:"profile,omitempty"`
	To      []Recipient `json:"to,omitempty"`
	Cc      []Recipient `json:"cc,omitempty"`
	Bcc     []Recipient `json:"bcc,omitempty"`
	Subject string      `json:"subject,omitempty"`
	Text    string      `json:"text,omitempty"`
	HTML    string      `json:"html,omitempty"`
	// Headers are at most 50 fields of the caller's own. Those that Postledger
	// writes itself (From, To, Date, …) are refused.
	Headers []postledger.Header `json:"headers,omitempty"`
	// FromName replaces the display name of the profile's From.
	FromName string               `json:"from_name,omitempty"`
	ReplyTo  []postledger.Mailbox `json:"reply_to,omitempty"`
	// Lane is immediate when empty; messages of a batch are always bulk.
	Lane postledger.Lane `json:"lane,omitempty"`
	// Category is system when empty.
	Category postledger.Category `json:"category,omitempty"`
	// Ref is the caller's own name for what the message is about.
	Ref    Ref    `json:"ref,omitzero"`
	Tenant string `json:"tenant,omitempty"`
	// Locale is a language tag such as de or pt-BR.
	Locale string           `json:"locale,omitempty"`
	Actor  postledger.Actor `json:"actor,omitzero"`
	// SendAt is when it is due, at most 366 days ahead; zero is now.
	SendAt time.Time `json:"send_at,omitzero"`
	// Deadline is when it is not worth sending any more. It passes also while
	// a profile is paused; the deliveries then fail as expired.
	Deadline Deadline `json:"deadline,omitzero"`
	// MessageID is the caller's own RFC 5322 Message-ID; not in batches.
	MessageID   string       `json:"message_id,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	// Key is the idempotency key, at most 255 bytes: of all requests of the app
	// with one key, one is accepted, and the others get its answer. Choose one
	// that names the occasion ("invoice-4711") to be safe also across restarts
	// of the application; if it is empty, one is made for the call and returned
	// in Accepted.Key or by KeyOf(err).
	Key string `json:"idempotency_key,omitempty"`
}

// Recipient is one address of a message.
type Recipient struct {
	Address string `json:"address"`
	// Name is shown beside the address; at most 255 bytes.
	Name string `json:"name,omitempty"`
}

// To makes recipients of bare addresses.
func To(addresses ...string) []Recipient {
	out := make([]Recipient, len(addresses))
	for i, a := range addresses {
		out[i] = Recipient{Address: a}
	}
	return out
}

// Ref is an object of the caller's, such as an order.
type Ref struct {
	Scope string `json:"scope,omitempty"`
	ID    string `json:"id,omitempty"`
}

// Deadline is a moment, or a span counted from SendAt or, without it, from
// acceptance. At most one of them is set.
type Deadline struct {
	At    time.Time
	After time.Duration
}

var (
	errDeadlineTwice = errors.New("deadline: has both At and After")
	errDeadlineSpan  = errors.New("deadline: After must be more than 0")
	errDeadlineForm  = errors.New("deadline: want an RFC 3339 time or a whole number of seconds")
)

// IsZero reports whether there is none.
func (d Deadline) IsZero() bool { return d.At.IsZero() && d.After == 0 }

// MarshalJSON writes an RFC 3339 time, or a span in whole seconds, rounded up.
func (d Deadline) MarshalJSON() ([]byte, error) {
	switch {
	case d.IsZero():
		return []byte("null"), nil
	case !d.At.IsZero() && d.After != 0:
		return nil, errDeadlineTwice
	case !d.At.IsZero():
		return json.Marshal(d.At)
	case d.After < 0:
		return nil, errDeadlineSpan
	default:
		return strconv.AppendInt(nil, int64((d.After-1)/time.Second)+1, 10), nil
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (d *Deadline) UnmarshalJSON(b []byte) error {
	*d = Deadline{}
	if string(b) == "null" {
		return nil
	}
	if len(b) > 0 && b[0] == '"' {
		if json.Unmarshal(b, &d.At) != nil {
			return errDeadlineForm
		}
		return nil
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n < 1 || n > int64(1<<63-1)/int64(time.Second) {
		return errDeadlineForm
	}
	d.After = time.Duration(n) * time.Second
	return nil
}
