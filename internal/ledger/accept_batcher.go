package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// acceptBatcher groups accepts: while one commit runs the next group gathers, so
// nobody waits for company, and a busy server pays one commit, one look at each
// policy and one change of each quota and counter for many requests. One
// goroutine: two would lock the same quota and counter rows and wait for each
// other.
type acceptBatcher struct {
	l    *Ledger
	ops  chan *acceptOp
	quit chan struct{}
	wg   sync.WaitGroup

	// rows are the loop's: it writes one group at a time.
	rows acceptRows

	// fates bounds the lost COMMITs that are looked up beside the loop.
	fates chan struct{}

	mu     sync.RWMutex
	closed bool
}

type acceptOp struct {
	a     *answer
	taken atomic.Bool // by a group, or by its caller, who has waited long enough
	done  chan struct{}
}

const (
	// Callers block on this channel once it is full; a caller is an HTTP
	// request, so their number is the server's to bound.
	acceptQueue = 256
	// Bounds of one group: requests, and messages over all of them.
	acceptGroupRequests = 64
	acceptGroupMessages = 1000
	// Bound of a group's content: what is larger goes alone, so that nobody
	// waits for more than one such, and ten messages of 100 KB still share a
	// commit.
	acceptGroupBytes = 1 << 20
	// acceptFates is less than the pool has connections. What is lost beyond
	// it holds the loop up, as the database would.
	acceptFates = 4
)

func newAcceptBatcher(l *Ledger) *acceptBatcher {
	b := &acceptBatcher{l: l, ops: make(chan *acceptOp, acceptQueue), quit: make(chan struct{}), fates: make(chan struct{}, acceptFates)}
	b.wg.Go(b.loop)
	return b
}

// close writes what was handed over and ends the goroutine.
func (b *acceptBatcher) close() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.quit)
	}
	b.mu.Unlock()
	b.wg.Wait()
}

func (b *acceptBatcher) do(ctx context.Context, r *AcceptRequest) (Accepted, error) {
	op := &acceptOp{a: &answer{req: r}, done: make(chan struct{})}
	if err := b.send(ctx, op); err != nil {
		return Accepted{}, err
	}
	select {
	case <-op.done:
		return op.a.out, op.a.err
	case <-ctx.Done():
		if op.taken.CompareAndSwap(false, true) {
			return Accepted{}, fmt.Errorf("accept: wait for a turn: %w", ctx.Err())
		}
		<-op.done // the group is bounded, and only its end tells
		return op.a.out, op.a.err
	}
}

// send holds the read lock, so that nothing is handed over after close has begun.
func (b *acceptBatcher) send(ctx context.Context, op *acceptOp) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return errClosed
	}
	select {
	case b.ops <- op:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *acceptBatcher) loop() {
	var held []*acceptOp // share a key with an earlier request of the group, or have no room in it
	for {
		var first *acceptOp
		if len(held) > 0 {
			first, held = held[0], held[1:]
		} else {
			select {
			case first = <-b.ops:
			case <-b.quit:
				select {
				case first = <-b.ops: // what was handed over is written
				default:
					return
				}
			}
		}
		group := []*acceptOp{first}
		keys := map[appKey]bool{}
		first.claim(keys)
		messages, size := len(first.a.req.Messages), first.a.req.size()
		add := func(op *acceptOp) bool {
			n := op.a.req.size()
			if size+n > acceptGroupBytes || !op.claim(keys) {
				return false
			}
			group = append(group, op)
			messages += len(op.a.req.Messages)
			size += n
			return true
		}
		room := func() bool {
			return len(group) < acceptGroupRequests && messages < acceptGroupMessages && size < acceptGroupBytes
		}
		rest := held[:0]
		for _, op := range held {
			if !room() || !add(op) {
				rest = append(rest, op)
			}
		}
		held = rest
	gather:
		for room() && len(held) < acceptGroupRequests {
			select {
			case op := <-b.ops:
				if !add(op) {
					held = append(held, op)
				}
			default:
				break gather
			}
		}
		b.commit(group)
	}
}

// size is how much content the request has.
func (r *AcceptRequest) size() (n int64) {
	for i := range r.Messages {
		n += r.Messages[i].Message.SizeBytes
	}
	return n
}

// claim takes the request's keys for this group, or none if one is taken.
func (op *acceptOp) claim(taken map[appKey]bool) bool {
	r := op.a.req
	for i := range r.Messages {
		if k := r.Messages[i].Key; k != "" && taken[appKey{r.AppID, k}] {
			return false
		}
	}
	for i := range r.Messages {
		if k := r.Messages[i].Key; k != "" {
			taken[appKey{r.AppID, k}] = true
		}
	}
	return true
}

// commit writes the group, or each request alone when the group cannot be
// written as one. Who does not wait any more is left out.
func (b *acceptBatcher) commit(group []*acceptOp) {
	group = slices.DeleteFunc(group, func(op *acceptOp) bool { return !op.taken.CompareAndSwap(false, true) })
	if len(group) == 0 {
		return
	}
	answers := make([]*answer, len(group))
	for i, op := range group {
		answers[i] = op.a
	}
	xid, err := b.once(answers)
	if err == nil || len(group) == 1 || lostCommit(err) || b.l.unreachable(err) {
		b.end(group, xid, err)
		return
	}
	for i := range group {
		xid, err := b.once(answers[i : i+1])
		b.end(group[i:i+1], xid, err)
	}
}

// end answers for a group. A COMMIT without an answer is looked up beside the
// loop: whoever comes meanwhile has nothing to do with it.
func (b *acceptBatcher) end(group []*acceptOp, xid uint64, err error) {
	answer := func() {
		lost := lostCommit(err)
		if lost && b.l.writer == nil {
			err = b.l.xactFate(xid, err)
		}
		for _, op := range group {
			fate := err
			if lost && b.l.writer != nil {
				fate = b.l.commitFateSQLite(op.a, err)
			}
			b.finish(op.a, fate)
			close(op.done)
		}
	}
	if !lostCommit(err) {
		answer()
		return
	}
	select {
	case b.fates <- struct{}{}:
		b.wg.Go(func() { answer(); <-b.fates })
	default:
		answer()
	}
}

func lostCommit(err error) bool {
	var ce *commitError
	return errors.As(err, &ce)
}

func (b *acceptBatcher) finish(a *answer, err error) {
	if err != nil && !(errors.Is(err, errGroupQuota) && a.err != nil) {
		a.err = err
	}
	if a.err != nil {
		a.err = fmt.Errorf("accept: %w", a.err)
	}
}

// once runs one group's transaction, again when another process committed one
// of its keys in between (its row is visible the second time).
func (b *acceptBatcher) once(answers []*answer) (xid uint64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.l.timeout)
	defer cancel()
	if b.l.writer != nil {
		return 0, b.l.acceptSQLite(ctx, answers)
	}
	try := acceptTry{rows: &b.rows}
	for races := 0; races < 3; {
		try.xid = 0
		err = b.l.inPostgresTx(ctx, b.l.groups, func(ctx context.Context, t *tx) error {
			return acceptGroup(ctx, t, answers, &try)
		})
		switch {
		case errors.Is(err, errChargeRefused) && !try.oneByOne:
			try.oneByOne = true
		case errors.Is(err, errKeyRace):
			races++
		default:
			return try.xid, err
		}
	}
	return try.xid, fmt.Errorf("%w: %w", ErrKeyBusy, err)
}
