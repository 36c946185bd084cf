package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/postledger/postledger"
)

// Error is a refusal by the server: an RFC 9457 problem document, or whatever
// a proxy answered in its place (then Code is empty). It never holds the API
// key.
type Error struct {
	// Op is what was asked for, such as "send message".
	Op string
	// Status is the HTTP status.
	Status int
	// Code is the stable name; empty when Postledger did not answer itself.
	Code Code
	// Title and Detail say it in words, which may change. Detail of a proxy's
	// answer is its beginning, at most 200 bytes.
	Title, Detail string
	// Fields are all that is wrong with the request, up to 50.
	Fields []Field
	// MoreFields is how many further problems there are that are not listed.
	MoreFields int
	// RetryAfter is how long the server asks to stay away; 0 if it does not say.
	RetryAfter time.Duration
	// RequestID finds the request in the server's log and audit trail.
	RequestID string
	// Key is the idempotency key that the request had. A repetition under the
	// same key cannot send twice.
	Key string
	// Usage is the limit that would be passed; nil when it is not about one.
	Usage *Usage
	// FateUnknown says that the request may have been accepted, as MessageID.
	// Ask for that message, or repeat the request under Key.
	FateUnknown bool
	MessageID   postledger.ID
}

// Field is one thing wrong with a request.
type Field struct {
	// Field is a path such as "to[1].address" or "messages[3].subject".
	Field string `json:"field"`
	// Rule is the stable name of what it broke: required, too_long, too_many,
	// too_large, control, encoding, syntax, duplicate, reserved, unknown,
	// range, not_allowed, mismatch; json, type, null, empty, order; of audiences
	// also lens and field_kind.
	Rule string `json:"rule"`
	// Message says in words what to do.
	Message string `json:"message"`
}

// Usage is a limit that the request would pass. What it counts goes by the
// code: recipients in any 1,440 minutes (quota_exceeded), bytes of one message's
// attachments (attachments_too_large), waiting deliveries (backlog_full).
type Usage struct {
	Limit int64 `json:"limit"`
	// Used and Requested are 0 where the code has none.
	Used      int64 `json:"used"`
	Requested int64 `json:"requested"`
	// ResetsAt is when enough will be free, if nothing else is sent; zero if
	// the server does not say.
	ResetsAt time.Time `json:"resets_at"`
}

// Error says what was asked for, what was answered, and the fields.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d", e.Op, e.Status)
	if e.Code != "" {
		b.WriteString(" " + string(e.Code))
	}
	switch {
	case e.Detail != "":
		b.WriteString(": " + e.Detail)
	case e.Title != "":
		b.WriteString(": " + e.Title)
	}
	for i, f := range e.Fields {
		if i == 3 {
			fmt.Fprintf(&b, " (and %d more)", len(e.Fields)-i+e.MoreFields)
			break
		}
		fmt.Fprintf(&b, "; %s %s", f.Field, f.Message)
	}
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	return b.String()
}

// Is reports whether the error has the code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c != "" && c == e.Code
}

// NoAnswerError: no whole answer came, after all the tries there were. Whether
// the server has done what was asked for is not known. A request with a key can
// be repeated under it; it will not be done twice.
type NoAnswerError struct {
	// Op is what was asked for, such as "send message".
	Op string
	// Key is the idempotency key of the request, also a generated one.
	Key string
	// Tries is how often it was tried.
	Tries int
	// Err is why the last one failed; the context's error if it has ended.
	Err error
}

func (e *NoAnswerError) Error() string {
	s := fmt.Sprintf("%s: no answer", e.Op)
	if e.Tries > 1 {
		s += fmt.Sprintf(" in %d tries", e.Tries)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap is the cause, so that errors.Is finds context.DeadlineExceeded.
func (e *NoAnswerError) Unwrap() error { return e.Err }

// KeyOf is the idempotency key of the request that err is about, or "".
func KeyOf(err error) string {
	var e *Error
	var n *NoAnswerError
	switch {
	case errors.As(err, &e):
		return e.Key
	case errors.As(err, &n):
		return n.Key
	default:
		return ""
	}
}
