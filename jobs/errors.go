package jobs

import "errors"

// Errors that callers tell apart with errors.Is.
var (
	// ErrBadJob: a field breaks its rule; the message names both. Nothing changed.
	ErrBadJob = errors.New("bad job")
	// ErrPayloadTooLarge: the payload has more than MaxPayload bytes.
	ErrPayloadTooLarge = errors.New("payload too large")
	// ErrUnavailable: neither the hot set nor, where it is allowed, the outbox
	// took the job. It may have been taken all the same when an answer was
	// lost: enqueue it again under the same id.
	ErrUnavailable = errors.New("job queue unavailable")
	// ErrOverloaded: taking the job would break a bound that was asked for
	// (max_backlog, or the hot set's reserve for direct jobs). Try later.
	ErrOverloaded = errors.New("job queue overloaded")
	// ErrClosed: the client or worker has been stopped.
	ErrClosed = errors.New("job queue closed")
	// ErrUnknownHandler: no handler of that name is registered.
	ErrUnknownHandler = errors.New("unknown handler")
	// ErrUnknownJob: the outbox has no row of that id.
	ErrUnknownJob = errors.New("unknown job")
	// ErrBadCursor: Query.After is not the next of a page of this list.
	ErrBadCursor = errors.New("bad cursor")
	// ErrUnknownSchedule: there is no schedule of that name.
	ErrUnknownSchedule = errors.New("unknown schedule")
	// ErrNoOutbox: what was asked for needs an outbox, and there is none.
	ErrNoOutbox = errors.New("no outbox configured")
	// ErrSuperseded is the cause of a run's context that ended because a newer
	// job took its place.
	ErrSuperseded = errors.New("superseded by a newer job")
	// ErrLeaseLost is the cause of a run's context that ended because the hot
	// set gave the job to another worker.
	ErrLeaseLost = errors.New("lease lost")
)
