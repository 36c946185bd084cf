package secret

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

const hidden = "[secret]"

// ErrHidden refuses the placeholder as input: someone sent back what an API
// answer or a configuration dump showed instead of the secret.
var ErrHidden = errors.New(`secret: "[secret]" stands for a secret and is none`)

// Value is a secret text. Every way of printing, logging or encoding it shows
// "[secret]", also when it is empty; only Reveal gives the text.
type Value struct{ text string }

// NewValue wraps a secret text.
func NewValue(text string) Value { return Value{text} }

// Reveal returns the text, to be handed to what needs it and nothing else.
func (v Value) Reveal() string { return v.text }

// IsZero reports whether there is no secret.
func (v Value) IsZero() bool { return v.text == "" }

// String returns "[secret]".
func (Value) String() string { return hidden }

// GoString returns "[secret]".
func (Value) GoString() string { return hidden }

// Format writes "[secret]" for every verb, so that %x and %d hide it too.
func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue returns "[secret]".
func (Value) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns "[secret]"; encoding/json and YAML libraries use it.
func (Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalJSON returns "[secret]" as a JSON string.
func (Value) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// UnmarshalText takes a secret from configuration or a request.
func (v *Value) UnmarshalText(text []byte) error {
	if string(text) == hidden {
		return ErrHidden
	}
	v.text = string(text)
	return nil
}
