package smtp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

// exchange is one Send: the envelope, what is known of each recipient, and
// what the wire was told. It outlives the connections it is tried on.
type exchange struct {
	e        *transport.Envelope
	wire     transport.Wire
	outcomes []postledger.Outcome // the zero value: not decided
	bad      []int                // recipients that never reach the wire
	known    []postledger.Outcome // what Begun was told, nil if nobody was decided

	begun    bool // Wire.Begun returned nil
	answered bool // Wire.Answered was called
	fresh    bool // it already had its second, fresh connection
	bare     bool // it already had its second try without parameters
}

func newExchange(e *transport.Envelope, w transport.Wire) *exchange {
	x := &exchange{e: e, wire: w, outcomes: make([]postledger.Outcome, len(e.Recipients))}
	for i, addr := range e.Recipients {
		if addr == "" || unsafePath(addr) {
			x.bad = append(x.bad, i)
		}
	}
	x.reset()
	return x
}

// reset forgets what a connection said before another is tried, but for what
// the record of the first try says.
func (x *exchange) reset() {
	clear(x.outcomes)
	for _, i := range x.bad {
		x.outcomes[i] = failure(postledger.OutcomeRefused, postledger.PhaseNone,
			"the address has a character that must not be sent in a command")
		x.outcomes[i].Reason = postledger.ReasonRejectedRecipient
	}
	for i, o := range x.known {
		if o.Class.Certain() {
			x.outcomes[i] = o
		}
	}
}

func (x *exchange) decided(i int) bool { return x.outcomes[i] != postledger.Outcome{} }

func (x *exchange) allDecided() bool {
	return !slices.Contains(x.outcomes, postledger.Outcome{})
}

// settle gives o to every recipient of whom nothing else is known.
func (x *exchange) settle(o postledger.Outcome) {
	for i := range x.outcomes {
		if !x.decided(i) {
			x.outcomes[i] = o
		}
	}
}

// remark adds a note to every outcome's text, at the cost of the text's end.
func (x *exchange) remark(note string) {
	note = " (" + transport.OneLine(note, nil) + ")"
	for i, o := range x.outcomes {
		room := max(postledger.MaxReplyText-len(note), 0)
		if len(o.Text) > room {
			o.Text = strings.ToValidUTF8(o.Text[:room], "")
		}
		x.outcomes[i].Text = transport.OneLine(o.Text+note, nil)
	}
}

// begin asks leave to write the final dot. After a 421 to the dot the record
// of the first try still stands: nothing new is to be said.
func (x *exchange) begin() error {
	if x.begun {
		return nil
	}
	var known []postledger.Outcome
	if slices.ContainsFunc(x.outcomes, func(o postledger.Outcome) bool { return o != postledger.Outcome{} }) {
		known = slices.Clone(x.outcomes)
		for i := range known {
			if !x.decided(i) {
				known[i] = transport.InDoubt()
			}
		}
	}
	if err := x.wire.Begun(known); err != nil {
		return fmt.Errorf("begin the final dot: %w", err)
	}
	x.begun, x.known = true, known
	return nil
}

// answer tells the wire the outcomes, if all are certain.
func (x *exchange) answer() {
	uncertain := slices.ContainsFunc(x.outcomes, func(o postledger.Outcome) bool { return !o.Class.Certain() })
	if x.begun && !x.answered && !uncertain {
		x.answered = true
		x.wire.Answered(x.outcomes)
	}
}

// unsupported says what e needs and the hop lacks; "" is nothing.
func unsupported(e *transport.Envelope, ext extensions) string {
	size := e.Message.Size()
	switch {
	case e.NeedsSMTPUTF8 && !ext.utf8:
		return "the next hop does not offer SMTPUTF8, which an address or a header needs"
	case e.Has8Bit && !ext.eightBit:
		return "the next hop does not offer 8BITMIME, which the body needs"
	case ext.maxSize > 0 && size > ext.maxSize:
		return fmt.Sprintf("the message has %d bytes, the next hop takes %d", size, ext.maxSize)
	}
	return ""
}
