// Package transport is the contract between the delivery worker and the code
// that talks to one kind of next hop.
//
// A transport sends one envelope at a time on the goroutine that calls Send
// and reports one outcome for each recipient: a value that says what became of
// it, never a bare error. The rule everything rests on:
//
//   - Before the write that contains the last byte the next hop needs in order
//     to accept (SMTP: the final dot, RFC 5321 §4.1.1.4; an API: the request's
//     last byte), the transport calls Wire.Begun with what is known by then of
//     each recipient (SMTP: the refusals at RCPT). If Begun returns an error it
//     must not write that byte; the outcome is returned and the connection is
//     dropped.
//   - A recipient decided by then stays so, whatever the rest comes to; a
//     second try leaves it out. Nobody can be accepted by then.
//   - From then on everything but a readable answer is OutcomeUnknown of those
//     in doubt: timeout, reset, garbage (RFC 5321 §4.5.3.2.6, §6.1; RFC 1047).
//     Before it, every failure is certainly not an acceptance.
//   - As soon as the answer has been read it calls Wire.Answered with the
//     outcome of every recipient, before it does anything that may block.
//
// What a crash leaves behind is then decided by those two records alone.
package transport

import (
	"context"
	"io"

	"github.com/postledger/postledger"
)

// Envelope is what leaves in one transaction.
type Envelope struct {
	// ID is sent as ENVID where the hop offers DSN (RFC 3461 §4.4) and as an
	// API's idempotency key.
	ID postledger.ID
	// ReturnPath is the MAIL FROM address in wire form; "" is the null path.
	ReturnPath string
	// Recipients are addresses in wire form (domain as A-label, local part as
	// given), at most 50, none twice.
	Recipients []string
	// NeedsSMTPUTF8 is set when a header or an address holds UTF-8 that cannot
	// be downgraded (RFC 6531 §3.2).
	NeedsSMTPUTF8 bool
	// Has8Bit is set when a body line holds a byte over 127 (RFC 6152).
	Has8Bit bool
	// RequestDSN asks the hop for failure reports to ReturnPath, where it
	// offers DSN (RET=HDRS, NOTIFY=FAILURE, ORCPT; RFC 3461).
	RequestDSN bool
	// Message is the exact bytes, CRLF line ends, not dot-stuffed.
	Message Message
}

// Message yields the same bytes each time it is written.
type Message interface {
	// Size is the exact number of bytes WriteTo writes.
	Size() int64
	io.WriterTo
}

// Wire is told of the two moments that decide what a crash means. Its methods
// are called at most once each, from the goroutine that runs Send.
type Wire interface {
	// Begun is called right before the write that contains the last byte,
	// with one outcome per recipient in the envelope's order: of those decided
	// already theirs, of the others InDoubt. nil means that all are in doubt.
	Begun(known []postledger.Outcome) error
	// Answered is called with the outcome of each recipient, in the
	// envelope's order, as soon as the answer to that byte was read.
	Answered(outcomes []postledger.Outcome)
}

// Transport talks to the next hop of one profile. Send may be called from as
// many goroutines as the profile has connections; Close waits for none of
// them, it makes idle connections end.
type Transport interface {
	Capabilities() Capabilities
	// Send transmits e and returns one outcome per recipient in e's order. It
	// never panics on what the hop says. When ctx ends before Begun it stops
	// as soon as it can and reports OutcomeReturned; after Begun it goes on
	// waiting for the answer within its own limits, since only an answer
	// tells.
	Send(ctx context.Context, e *Envelope, w Wire) []postledger.Outcome
	// Probe opens (or reuses) a connection up to the point where MAIL could
	// be sent, login included, and reports the class of a failure.
	// OutcomeAccepted means the hop is ready.
	Probe(ctx context.Context) postledger.Outcome
	Close() error
}

// Capabilities is what a transport declares; transporttest checks each.
type Capabilities struct {
	// Name is the kind: smtp, sandbox, …
	Name string
	// Sandbox is set when nothing really leaves.
	Sandbox bool
	// OneRecipientPerEnvelope asks accept to form single-recipient envelopes.
	OneRecipientPerEnvelope bool
	// MaxRecipients bounds an envelope; 0 means no bound of its own.
	MaxRecipients int
}

// InDoubt is a recipient the final byte may be for: its fate lies in the
// answer. Only the class counts; any OutcomeUnknown is in doubt.
func InDoubt() postledger.Outcome {
	return postledger.Outcome{Class: postledger.OutcomeUnknown, Phase: postledger.PhaseDot, Reason: postledger.ReasonNoAnswer}
}

// Every gives each of n recipients the same outcome.
func Every(n int, o postledger.Outcome) []postledger.Outcome {
	out := make([]postledger.Outcome, n)
	for i := range out {
		out[i] = o
	}
	return out
}
