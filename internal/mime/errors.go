package mime

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// FieldError refuses an input. It names the field and the rule, and never
// repeats the value, which may be an address or a secret.
type FieldError struct {
	Field string // such as "subject" or "to[2].name"
	Rule  string // such as "contains a line break"
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Rule }

// AttachmentError reports that the content of an attachment could not be had.
// It is told apart from an error of the writer because the wire is not to blame.
type AttachmentError struct {
	Index int // in Input.Attachments
	Err   error
}

func (e *AttachmentError) Error() string {
	return fmt.Sprintf("read attachment %d: %v", e.Index, e.Err)
}

func (e *AttachmentError) Unwrap() error { return e.Err }

// ErrContentChanged is wrapped in an [AttachmentError] when an opener gave
// another content than was declared or read before. The bytes would no longer
// fit the announced size and the signature.
var ErrContentChanged = errors.New("content is not what was declared")

func refuse(field, rule string) error { return &FieldError{Field: field, Rule: rule} }

// under puts a field error below the field that contains it.
func under(parent string, err error) error {
	var fe *FieldError
	if errors.As(err, &fe) {
		return &FieldError{Field: parent + "." + fe.Field, Rule: fe.Rule}
	}
	return err
}

func item(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// checkText refuses what must never come near a header: a value is refused, not
// stripped, so that nobody is sent something other than what was asked for.
func checkText(field, s string) error {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= ' ' || c == '\t':
		case c == '\r' || c == '\n':
			return refuse(field, "contains a line break")
		case c == 0:
			return refuse(field, "contains a NUL")
		default:
			return refuse(field, "contains a control character")
		}
	}
	if !utf8.ValidString(s) {
		return refuse(field, "is not valid UTF-8")
	}
	return nil
}

// checkBody refuses a body that its charset=utf-8 would not describe.
func checkBody(field, s string) error {
	if !utf8.ValidString(s) {
		return refuse(field, "is not valid UTF-8")
	}
	return nil
}
