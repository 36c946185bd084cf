package mime

import (
	"io"
	"time"
)

// Address is a mailbox: a display name, which may be empty, and an addr-spec
// whose domain is in A-label form.
type Address struct {
	Name string
	Addr string
}

// Header is one header field of the message.
type Header struct {
	Name  string
	Value string
}

// Disposition says how a part wants to be shown (RFC 2183).
type Disposition uint8

const (
	// DispositionAttachment is a part the reader saves or opens by itself.
	DispositionAttachment Disposition = iota
	// DispositionInline is a part the HTML shows, by its Content-ID.
	DispositionInline
)

// Attachment is a file of the message. Its content is not held: Open is called
// whenever the bytes are needed, must give the same Size bytes every time, and
// may be called several times for one message.
type Attachment struct {
	Filename    string
	ContentType string // application/octet-stream when empty
	Disposition Disposition
	ContentID   string // without angle brackets; for cid: references
	// Method makes a text/calendar attachment an invitation: it becomes an
	// alternative of the text, with this method parameter (RFC 6047 §2.4), and is
	// attached as a file as well unless its disposition is inline.
	Method string
	Size   int64
	Open   func() (io.ReadCloser, error)
}

// Input is everything the bytes of a message depend on.
type Input struct {
	From    Address
	ReplyTo []Address
	To      []Address
	Cc      []Address
	Subject string
	// MessageID is the id with or without its angle brackets.
	MessageID string
	// Date is written in UTC, so that it does not depend on the zone in which a
	// process or driver represents the instant.
	Date time.Time
	// Headers are the caller's own fields, in order. Reserved names are refused.
	Headers []Header
	// Added are fields Postledger itself adds, such as List-Unsubscribe. Only the
	// names the composer writes are refused.
	Added []Header

	Text        string
	HTML        string
	Attachments []Attachment

	// Seed makes the boundaries: the envelope's id.
	Seed []byte
}
