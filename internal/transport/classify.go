package transport

import (
	"slices"
	"strings"

	"github.com/postledger/postledger"
)

// Classify says what a reply means that was read in phase. accepted is the
// number of recipients the hop had accepted in this transaction before the
// reply; recipients are replaced in the text (see OneLine).
//
// The reply code's first digit decides between accepted, later and never; the
// enhanced code (RFC 3463, RFC 5248) refines whose fault it is. For a positive
// reply the class is OutcomeAccepted, which is the hop's responsibility for a
// message only in PhaseDot.
//
// A negative reply to the final dot is as certain as a positive one: the hop
// must not deliver (RFC 5321 §4.2.5). What is not a reply is not for Classify.
func Classify(phase postledger.Phase, r Reply, accepted int, recipients []string) postledger.Outcome {
	class, reason := verdict(phase, r, accepted)
	return postledger.Outcome{
		Class:    class,
		Phase:    phase,
		Reason:   reason,
		Code:     r.Code,
		Enhanced: r.Enhanced,
		Text:     r.Line(recipients),
	}
}

func verdict(phase postledger.Phase, r Reply, accepted int) (postledger.OutcomeClass, postledger.Reason) {
	if r.Positive() {
		return postledger.OutcomeAccepted, ""
	}
	s := situation{phase: phase, Reply: r, accepted: accepted}
	for _, row := range rows {
		if row.match(s) {
			return row.class, row.reason(s)
		}
	}
	// Neither positive nor negative: an intermediate reply where none belongs.
	return postledger.OutcomeDeferred, postledger.ReasonDeferred
}

// situation is a negative reply and where it was read.
type situation struct {
	Reply
	phase    postledger.Phase
	accepted int
}

func (s situation) code(codes ...int) bool { return slices.Contains(codes, s.Code) }

// status reports whether the enhanced code is class.subject.detail for one of
// the details.
func (s situation) status(class, subject uint16, details ...uint16) bool {
	return s.Enhanced[0] == class && s.Enhanced[1] == subject && slices.Contains(details, s.Enhanced[2])
}

func (s situation) bare() bool { return s.Enhanced == postledger.EnhancedCode{} }

// beforeMail: the failure is the connection's, no message was offered yet.
func (s situation) beforeMail() bool { return s.phase < postledger.PhaseAuth }

func (s situation) atRcpt() bool { return s.phase == postledger.PhaseRcpt }

// blamesRecipient reports whether a refusal can be the recipient's: at RCPT,
// or later if there was one recipient only. One of several cannot be blamed
// for what was said to all.
func (s situation) blamesRecipient() bool {
	return s.atRcpt() || s.phase > postledger.PhaseRcpt && s.accepted <= 1
}

type row struct {
	name  string
	match func(situation) bool
	class postledger.OutcomeClass
	// why is the reason; "" stands for the class's own.
	why postledger.Reason
}

func (r row) reason(s situation) postledger.Reason {
	switch {
	case r.why == postledger.ReasonRejectedRecipient && !s.blamesRecipient():
		return postledger.ReasonRejectedMessage
	case r.why != "":
		return r.why
	}
	return ReasonOf(r.class)
}

// ReasonOf is the reason that goes with a class when nothing says more.
func ReasonOf(c postledger.OutcomeClass) postledger.Reason {
	switch c {
	case postledger.OutcomeReturned:
		return postledger.ReasonReturned
	case postledger.OutcomeRefused:
		return postledger.ReasonRejectedMessage
	case postledger.OutcomeDeferred:
		return postledger.ReasonDeferred
	case postledger.OutcomeThrottled:
		return postledger.ReasonThrottled
	case postledger.OutcomeUnavailable:
		return postledger.ReasonUnavailable
	case postledger.OutcomeMisconfigured:
		return postledger.ReasonMisconfigured
	case postledger.OutcomeUnknown:
		return postledger.ReasonNoAnswer
	case postledger.OutcomeAccepted:
	}
	return ""
}

// senderVerify is what hops say, often without an enhanced code, when they
// refuse our return path in answer to RCPT.
func senderVerify(text string) bool {
	return strings.Contains(strings.ToLower(text), "sender verify")
}
