package postledger

import "fmt"

// OutcomeClass says what became of one recipient in one try.
type OutcomeClass uint8

// The classes. Only Accepted, Refused, Deferred and Unknown charge an attempt.
const (
	// OutcomeReturned: not tried to the end, and certainly not accepted
	// (worker stopping, transaction full after some recipients, lost right to
	// send). The delivery is free again at once.
	OutcomeReturned OutcomeClass = iota
	// OutcomeAccepted: the next hop took responsibility.
	OutcomeAccepted
	// OutcomeRefused: refused for good (5yz for the recipient or the message).
	OutcomeRefused
	// OutcomeDeferred: refused for now (4yz); charged and tried later.
	OutcomeDeferred
	// OutcomeThrottled: the hop wants fewer or slower messages; the profile
	// slows down and nothing is charged.
	OutcomeThrottled
	// OutcomeUnavailable: failed before MAIL was answered (DNS, connect, TLS,
	// EHLO, temporary AUTH); the profile is down and nothing is charged.
	OutcomeUnavailable
	// OutcomeMisconfigured: credentials or configuration refused; the profile
	// is paused with an alarm and nothing is charged.
	OutcomeMisconfigured
	// OutcomeUnknown: the final dot (or a provider request's last byte) may
	// have left, and no answer is known.
	OutcomeUnknown
)

var outcomeNames = [...]string{
	"returned", "accepted", "refused", "deferred", "throttled", "unavailable", "misconfigured", "unknown",
}

// String is the class's lower-case name.
func (c OutcomeClass) String() string {
	if int(c) < len(outcomeNames) {
		return outcomeNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// Certain reports whether the class says for sure whether the hop has it.
func (c OutcomeClass) Certain() bool { return c != OutcomeUnknown }

// Phase is where in a transaction with the next hop an outcome arose.
type Phase uint8

// The phases of an SMTP transaction (RFC 5321 §3); other transports use
// PhaseConnect, PhaseAuth, PhaseBody and PhaseDot in the same sense.
const (
	PhaseNone Phase = iota
	PhaseConnect
	PhaseGreeting
	PhaseHello
	PhaseStartTLS
	PhaseAuth
	PhaseMail
	PhaseRcpt
	PhaseData
	PhaseBody
	PhaseDot
)

var phaseNames = [...]string{
	"none", "connect", "greeting", "hello", "starttls", "auth", "mail", "rcpt", "data", "body", "dot",
}

// String is the phase's lower-case name.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// EnhancedCode is an RFC 3463 status; all zero when the hop gave none.
type EnhancedCode [3]uint16

// String is the dotted form, or "" when there is none.
func (e EnhancedCode) String() string {
	if e == (EnhancedCode{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", e[0], e[1], e[2])
}

// Outcome is what a transport reports for one recipient: a value, never a
// bare error. Text is the hop's reply (or our description when there was
// none), at most MaxReplyText bytes, valid UTF-8 on one line; an address in
// it is replaced by {rcpt} before it is stored.
type Outcome struct {
	Class      OutcomeClass
	Phase      Phase
	Reason     Reason
	Code       int
	Enhanced   EnhancedCode
	Text       string
	ProviderID string
}

// MaxReplyText bounds the reply text kept of one outcome, in bytes.
const MaxReplyText = 400

// String is for logs: class, phase (when it came to one) and codes, never the text (it may hold an address).
func (o Outcome) String() string {
	s := o.Class.String()
	if o.Phase != PhaseNone {
		s += " at " + o.Phase.String()
	}
	if o.Code != 0 {
		s += fmt.Sprintf(" %d", o.Code)
	}
	if e := o.Enhanced.String(); e != "" {
		s += " " + e
	}
	return s
}
