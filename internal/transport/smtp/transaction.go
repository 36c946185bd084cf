package smtp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

var errResetRefused = errors.New("RSET was refused")

// next says how a Send goes on after a connection was tried.
type next uint8

const (
	// finished: every recipient has its outcome.
	finished next = iota
	// tryFresh: certainly not accepted, and the connection's age is to blame:
	// use a fresh one. Outcomes hold what is true if there is none.
	tryFresh
	// tryBare: a parameter of MAIL or RCPT was refused: leave them out.
	tryBare
)

// transaction is one try on one connection.
type transaction struct {
	*conn
	*exchange
	limits Timeouts
	guard  *guard
	ctx    context.Context

	group []step

	// What went out.
	mailSent   bool
	mailParams bool // MAIL had parameters that it can do without
	rcptNext   int  // the next recipient to name
	rcptParams bool // so had a RCPT
	dataSent   bool

	// What came back.
	rsetFailed bool
	mailOK     bool
	accepted   int             // recipients answered 2yz
	stray      bool            // a RCPT was answered 2yz although MAIL was refused
	badParam   bool            // a reply refused a parameter
	data       transport.Reply // the reply to DATA; zero if there is none
}

// step is a command whose reply is due.
type step struct {
	phase postledger.Phase // PhaseNone is RSET
	rcpt  int
}

// run sends the envelope on the connection.
func (tx *transaction) run() next {
	if lack := unsupported(tx.e, tx.ext); lack != "" {
		o := failure(postledger.OutcomeRefused, postledger.PhaseMail, lack)
		o.Reason = postledger.ReasonNotSupported
		tx.settle(o)
		return finished
	}
	tx.messages++
	for !tx.dataSent {
		if n, done := tx.talk(); done {
			return n
		}
		if tx.rsetFailed {
			return tx.resetRefused()
		}
		if tx.mailSent && !tx.mailOK || tx.rcptNext == len(tx.e.Recipients) && tx.accepted == 0 {
			break // nothing to name recipients to, or no one left to send to
		}
	}
	switch {
	case tx.badParam && !tx.exchange.bare:
		return tx.withoutParameters()
	case tx.data.Intermediate() && tx.mailOK && tx.accepted > 0:
		return tx.send()
	case tx.data.Intermediate():
		return tx.loneDot()
	case tx.data.Negative() && tx.accepted > 0:
		tx.settle(tx.classify(postledger.PhaseData, tx.data))
	}
	return finished
}

// talk writes one group of commands and reads its replies. done means that
// the connection is lost or told to go.
func (tx *transaction) talk() (n next, done bool) {
	tx.compose()
	phase := tx.group[0].phase
	if err := tx.write(tx.limit(phase)); err != nil {
		if r, rerr := tx.read(lastWords); rerr == nil && r.Code == 421 {
			return tx.goodbye(phase, r), true
		}
		return tx.fail(phase, err), true
	}
	for _, s := range tx.group {
		r, err := tx.read(tx.limit(s.phase))
		switch {
		case err != nil:
			return tx.fail(s.phase, err), true
		case r.Code == 421:
			return tx.goodbye(s.phase, r), true
		case !expected(s.phase, r):
			return tx.fail(s.phase, fmt.Errorf("%w: %d to %s", transport.ErrBadReply, r.Code, s.phase)), true
		}
		tx.note(s, r)
	}
	if tx.in.Buffered() > 0 {
		return tx.unasked(tx.group[len(tx.group)-1].phase), true
	}
	return finished, false
}

// unasked ends a try on which more replies came than commands went out: the
// hop says goodbye, or refuses the message before it has seen it, or we no
// longer know which reply belongs to what.
func (tx *transaction) unasked(phase postledger.Phase) next {
	r, err := tx.read(lastWords)
	switch {
	case err != nil:
		return tx.fail(phase, err)
	case r.Code == 421:
		return tx.goodbye(phase, r)
	case tx.data.Intermediate() && r.Negative():
		tx.drop()
		tx.settle(tx.classify(postledger.PhaseBody, r))
		return finished
	}
	return tx.fail(phase, fmt.Errorf("%w: %d, and nothing was asked", transport.ErrBadReply, r.Code))
}

// compose fills the write buffer with the next group of commands.
func (tx *transaction) compose() {
	tx.group, tx.out = tx.group[:0], tx.out[:0]
	add := func(s step, line []byte) bool {
		if len(tx.group) > 0 && (!tx.ext.pipelining || len(line) > groupLimit) {
			return false
		}
		tx.out, tx.group = line, append(tx.group, s)
		return true
	}
	if tx.open && !tx.mailSent { // left by the transaction before
		if !add(step{phase: postledger.PhaseNone}, append(tx.out, "RSET\r\n"...)) {
			return
		}
		tx.open = false
	}
	if !tx.mailSent {
		line, params := appendMail(tx.out, tx.e, tx.ext, tx.bareNow())
		if !add(step{phase: postledger.PhaseMail}, line) {
			return
		}
		tx.mailSent, tx.mailParams = true, params
	}
	for tx.rcptNext < len(tx.e.Recipients) {
		i := tx.rcptNext
		if !tx.decided(i) {
			line, params := appendRcpt(tx.out, tx.e.Recipients[i], tx.e, tx.ext, tx.bareNow())
			if !add(step{postledger.PhaseRcpt, i}, line) {
				return
			}
			tx.rcptParams = tx.rcptParams || params
		}
		tx.rcptNext++
	}
	if add(step{phase: postledger.PhaseData}, append(tx.out, "DATA\r\n"...)) {
		tx.dataSent = true
	}
}

func (tx *transaction) bareNow() bool { return tx.exchange.bare || tx.conn.bare }

// expected reports a reply that can belong to the command.
func expected(phase postledger.Phase, r transport.Reply) bool {
	if phase == postledger.PhaseData {
		return r.Intermediate() || r.Negative()
	}
	return r.Positive() || r.Negative()
}

// note records the reply to a command.
func (tx *transaction) note(s step, r transport.Reply) {
	switch s.phase {
	case postledger.PhaseMail:
		tx.mailOK = r.Positive()
		tx.conn.open = tx.mailOK
		if !tx.mailOK {
			tx.badParam = tx.mailParams && refusesParameter(r)
			tx.settle(tx.classify(s.phase, r))
		}
	case postledger.PhaseRcpt:
		switch {
		case !tx.mailOK: // the answer to MAIL has said it
			tx.stray = tx.stray || r.Positive()
		case r.Positive():
			tx.accepted++
		default:
			tx.badParam = tx.badParam || tx.rcptParams && refusesParameter(r)
			tx.outcomes[s.rcpt] = tx.classify(s.phase, r)
		}
	case postledger.PhaseData:
		tx.data = r
	default:
		tx.rsetFailed = !r.Positive()
	}
}

// refusesParameter reports a reply that may be about a parameter (RFC 5321
// §4.2.4); an enhanced code about an address is not.
func refusesParameter(r transport.Reply) bool {
	switch r.Code {
	case 455, 501, 504, 555:
		return r.Enhanced == postledger.EnhancedCode{} || r.Enhanced[1] == 5
	}
	return false
}

// withoutParameters prepares the second try. After a 354 only dropping the
// connection ends the transaction without sending it.
func (tx *transaction) withoutParameters() next {
	tx.conn.bare = true
	tx.conn.open = true
	if tx.data.Intermediate() {
		tx.drop()
	}
	return tryBare
}

// loneDot ends a DATA that was answered 354 although no recipient was taken.
func (tx *transaction) loneDot() next {
	if tx.stray {
		// Recipients without MAIL: a dot might deliver an empty message.
		tx.drop()
		return finished
	}
	r, err := tx.command(tx.limits.Data, ".")
	if err != nil || r.Code == 421 || tx.in.Buffered() > 0 {
		tx.drop()
	}
	tx.conn.open = false
	return finished
}

// limit is how long the reply of a phase may take.
func (tx *transaction) limit(phase postledger.Phase) time.Duration {
	switch phase {
	case postledger.PhaseRcpt:
		return tx.limits.Rcpt
	case postledger.PhaseData:
		return tx.limits.Data
	}
	return tx.limits.Mail
}

// fail ends a try whose connection broke before the final dot.
func (tx *transaction) fail(phase postledger.Phase, err error) next {
	tx.drop()
	if tx.ctx.Err() != nil {
		tx.settle(stopped(phase, "stopped before the final dot"))
		return finished
	}
	class := postledger.OutcomeDeferred
	if !tx.mailOK {
		class, phase = postledger.OutcomeUnavailable, postledger.PhaseMail
	}
	tx.settle(lost(class, phase, err))
	return tx.onFresh()
}

// goodbye ends a try that was answered 421: the hop closes the connection.
func (tx *transaction) goodbye(phase postledger.Phase, r transport.Reply) next {
	tx.drop()
	if phase == postledger.PhaseNone {
		phase = postledger.PhaseMail
	}
	tx.settle(tx.classify(phase, r))
	return tx.onFresh()
}

// resetRefused ends a try whose connection still has the transaction before.
// That says nothing about this message and costs the connection only.
func (tx *transaction) resetRefused() next {
	n := tx.fail(postledger.PhaseMail, errResetRefused)
	if !tx.fresh && tx.ctx.Err() == nil {
		return tryFresh
	}
	return n
}

func (tx *transaction) onFresh() next {
	if tx.reused && !tx.fresh {
		return tryFresh
	}
	return finished
}

func (tx *transaction) classify(phase postledger.Phase, r transport.Reply) postledger.Outcome {
	return transport.Classify(phase, r, tx.accepted, tx.e.Recipients)
}
