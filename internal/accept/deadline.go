package accept

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// Deadline is either a moment or a span. In JSON a moment is an RFC 3339
// string and a span is a whole number of seconds, counted from send_at or,
// without it, from acceptance. Whichever it was, it becomes a moment in the
// ledger: it passes also while a profile is paused.
type Deadline struct {
	At    time.Time
	After time.Duration
}

var errDeadline = errors.New("deadline: want an RFC 3339 time or a whole number of seconds")

// IsZero reports whether no deadline was given.
func (d Deadline) IsZero() bool { return d.At.IsZero() && d.After == 0 }

// MarshalJSON writes what UnmarshalJSON reads.
func (d Deadline) MarshalJSON() ([]byte, error) {
	switch {
	case d.IsZero():
		return []byte("null"), nil
	case !d.At.IsZero():
		return json.Marshal(d.At)
	default:
		return strconv.AppendInt(nil, int64(d.After/time.Second), 10), nil
	}
}

// UnmarshalJSON reads a moment or a number of seconds.
func (d *Deadline) UnmarshalJSON(b []byte) error {
	*d = Deadline{}
	switch {
	case bytes.Equal(b, []byte("null")):
		return nil
	case len(b) > 0 && b[0] == '"':
		if err := json.Unmarshal(b, &d.At); err != nil || d.At.IsZero() {
			return errDeadline
		}
		return nil
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	// Zero would read as "no deadline", and a caller who computed it from a
	// moment that has passed means the opposite.
	if err != nil || n < 1 || n > int64(MaxAhead/time.Second) {
		return errDeadline
	}
	d.After = time.Duration(n) * time.Second
	return nil
}

// moment is the deadline for a message that is due at due.
func (d Deadline) moment(due time.Time) time.Time {
	if d.After > 0 {
		return due.Add(d.After)
	}
	return d.At
}
