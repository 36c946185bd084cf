package smtp

import (
	"fmt"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

// send writes the message after a 354 and judges the answer to its dot.
func (tx *transaction) send() next {
	tx.out = tx.out[:0]
	body := bodyWriter{c: tx.conn, limit: tx.limits.Block}
	n, err := tx.e.Message.WriteTo(&body)
	switch {
	case body.err != nil:
		return tx.cutShort(body.err)
	case err != nil:
		return tx.unreadable(fmt.Sprintf("the message could not be read: %v", err))
	case n != tx.e.Message.Size():
		return tx.unreadable(fmt.Sprintf("the message has %d bytes and not %d as announced", n, tx.e.Message.Size()))
	}
	body.finish()

	// From here the caller's context has no power: only an answer tells.
	if !tx.guard.release() {
		return tx.giveUp("stopped before the final dot")
	}
	if err := tx.begin(); err != nil {
		return tx.giveUp(err.Error())
	}
	werr := tx.write(tx.limits.Block)
	limit := tx.limits.Dot
	if werr != nil {
		limit = min(limit, lastWords)
	}
	r, err := tx.read(limit)
	if err == nil && werr != nil && !r.Negative() {
		err = werr // it cannot be the answer to a dot that did not leave
	}
	return tx.judge(r, err)
}

// judge settles what the answer to the final dot says.
func (tx *transaction) judge(r transport.Reply, err error) next {
	if err == nil && !r.Positive() && !r.Negative() {
		err = fmt.Errorf("%w: %d to the final dot", transport.ErrBadReply, r.Code)
	}
	if err != nil {
		tx.drop()
		tx.settle(lost(postledger.OutcomeUnknown, postledger.PhaseDot, err))
		return finished
	}
	tx.conn.open = false
	if tx.in.Buffered() > 0 {
		tx.broken = true
	}
	if r.Code == 421 {
		return tx.goodbye(postledger.PhaseDot, r)
	}
	tx.settle(tx.classify(postledger.PhaseDot, r))
	return finished
}

// cutShort ends a try whose connection failed inside the message: nothing was
// accepted. The hop may have said why, in place of reading on.
func (tx *transaction) cutShort(err error) next {
	r, rerr := tx.read(lastWords)
	switch {
	case rerr != nil || !r.Negative():
		return tx.fail(postledger.PhaseBody, err)
	case r.Code == 421:
		return tx.goodbye(postledger.PhaseBody, r)
	}
	tx.drop()
	tx.settle(tx.classify(postledger.PhaseBody, r))
	return finished
}

// unreadable ends a try whose message failed: no dot may follow.
func (tx *transaction) unreadable(text string) next {
	tx.drop()
	tx.settle(failure(postledger.OutcomeDeferred, postledger.PhaseBody, text))
	return finished
}

// giveUp ends a try right before its final dot.
func (tx *transaction) giveUp(text string) next {
	tx.drop()
	tx.settle(stopped(postledger.PhaseBody, text))
	return finished
}
