package jobs

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// Limits of a job's fields.
const (
	MaxPayload   = 64 << 10 // bytes
	MaxName      = 128      // bytes of a handler's name
	MaxKey       = 255      // bytes of a dedupe key or a group
	MaxAttempts  = 1000
	MaxTimeout   = 24 * time.Hour
	DefaultTries = 25
)

// Job is a unit of work, as its producer describes it.
type Job struct {
	// ID is the caller's, or made by Enqueue when it is zero. A job whose id
	// is known and not finished yet is the same job: enqueueing it again is a
	// success that adds nothing.
	ID ID
	// Handler is the name under which a worker registered what to do.
	Handler string
	// Payload is the handler's input, at most MaxPayload bytes.
	Payload []byte
	// Kind says where the job comes from, and with it whether it may wait in
	// the outbox (see RouteOf). The zero value is Adhoc.
	Kind Kind
	// Lane says which work it waits behind. Empty means: decided by ResolveLane.
	Lane Lane
	// DedupeKey makes jobs of one handler that still wait replace each other:
	// the last writer wins and takes the place of the first. Empty means none.
	DedupeKey string
	// Group is whose work this is, when work is to be shared out between
	// owners: FIFO holds within a group, no group fills the hot set, and a
	// group that is held is not admitted. Empty means none.
	Group string
	// RunAt is when it may start; zero means at once.
	RunAt time.Time
	// MaxAttempts is how often it may run; zero means the handler's or
	// DefaultTries.
	MaxAttempts int
	// Timeout ends a run's context; zero means the handler's default.
	Timeout time.Duration
	// Bypass makes an ad-hoc job go straight to the hot set, like a cron job:
	// it never waits behind a backlog and fails when it cannot be admitted.
	Bypass bool
}

// Validate reports the first field that breaks its rule. It wraps ErrBadJob, and
// ErrPayloadTooLarge when that is why.
func (j *Job) Validate() error {
	switch {
	case j.Handler == "":
		return badJob("handler", "is empty")
	case len(j.Handler) > MaxName:
		return badJob("handler", "has %d bytes, at most %d are allowed", len(j.Handler), MaxName)
	case !printable(j.Handler):
		return badJob("handler", "has characters that are not printable ASCII")
	case len(j.Payload) > MaxPayload:
		return fmt.Errorf("%w: payload has %d bytes, at most %d are allowed; pass a reference to larger data: %w",
			ErrBadJob, len(j.Payload), MaxPayload, ErrPayloadTooLarge)
	case !j.Kind.valid():
		return badJob("kind", "is %d, which is none of adhoc, cron and trigger", j.Kind)
	case j.Lane != "" && !j.Lane.Valid():
		return badJob("lane", "is %q, want fast or slow", string(j.Lane))
	case j.MaxAttempts < 0 || j.MaxAttempts > MaxAttempts:
		return badJob("max attempts", "is %d, want 0 (the default) to %d", j.MaxAttempts, MaxAttempts)
	case j.Timeout < 0 || j.Timeout > MaxTimeout:
		return badJob("timeout", "is %v, want 0 (the default) to %v", j.Timeout, MaxTimeout)
	}
	if err := validKey("dedupe key", j.DedupeKey); err != nil {
		return err
	}
	return validKey("group", j.Group)
}

// validKey keeps keys comparable in every store: PostgreSQL refuses a NUL and
// what is not UTF-8.
func validKey(field, key string) error {
	switch {
	case len(key) > MaxKey:
		return badJob(field, "has %d bytes, at most %d are allowed", len(key), MaxKey)
	case !utf8.ValidString(key):
		return badJob(field, "is not UTF-8")
	}
	for _, r := range key {
		if r < ' ' || r == 0x7f {
			return badJob(field, "has a control character")
		}
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func badJob(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s %s", ErrBadJob, field, fmt.Sprintf(format, args...))
}
