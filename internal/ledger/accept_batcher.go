package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// acceptBatcher groups accepts for PostgreSQL: while one commit runs the next
// group gathers, so nobody waits for company and a busy server pays one commit
// for many requests. One goroutine: two would lock the same quota and counter
// rows and wait for each other.
type acceptBatcher struct {
	l    *Ledger
	ops  chan *acceptOp
	quit chan struct{}
	wg   sync.WaitGroup

	mu     sync.RWMutex
	closed bool
}

type acceptOp struct {
	a    *answer
	done chan struct{}
}

const (
	// Callers block on this channel once it is full; a caller is an HTTP
	// request, so their number is the server's to bound.
	acceptQueue = 256
	// Bounds of one group: requests, and messages over all of them.
	acceptGroupRequests = 64
	acceptGroupMessages = 1000
	// acceptTimeout bounds a group's transaction.
	acceptTimeout = 30 * time.Second
)

func newAcceptBatcher(l *Ledger) *acceptBatcher {
	b := &acceptBatcher{l: l, ops: make(chan *acceptOp, acceptQueue), quit: make(chan struct{})}
	if l.dialect == postgres {
		b.wg.Go(b.loop)
	}
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
	<-op.done // the group is bounded by acceptTimeout, and only its end tells
	return op.a.out, op.a.err
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
	var held []*acceptOp // share a key with an earlier request of the group
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
		messages := len(first.a.req.Messages)
		add := func(op *acceptOp) bool {
			if !op.claim(keys) {
				return false
			}
			group = append(group, op)
			messages += len(op.a.req.Messages)
			return true
		}
		room := func() bool { return len(group) < acceptGroupRequests && messages < acceptGroupMessages }
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
// written as one.
func (b *acceptBatcher) commit(group []*acceptOp) {
	answers := make([]*answer, len(group))
	for i, op := range group {
		answers[i] = op.a
	}
	err := b.once1(answers)
	if err != nil && len(group) > 1 && !errors.Is(err, ErrFateUnknown) && !unreachable(err) {
		for i, a := range answers {
			b.finish(a, b.once1(answers[i:i+1]))
		}
	} else {
		for _, a := range answers {
			b.finish(a, err)
		}
	}
	for _, op := range group {
		close(op.done)
	}
}

// unreachable reports whether err is the database's rather than a request's:
// then trying each alone would keep all of them waiting, one timeout after the
// other, for the same answer.
func unreachable(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &network) || errors.As(err, &connect)
}

func (b *acceptBatcher) finish(a *answer, err error) {
	if err != nil && !(errors.Is(err, errGroupQuota) && a.err != nil) {
		a.err = err
	}
	if a.err != nil {
		a.err = fmt.Errorf("accept: %w", a.err)
	}
}

// once1 runs one group's transaction, again when another process committed one
// of its keys in between (its row is visible the second time).
func (b *acceptBatcher) once1(answers []*answer) error {
	ctx, cancel := context.WithTimeout(context.Background(), acceptTimeout)
	defer cancel()
	var err error
	for range 3 {
		var xid uint64
		err = b.l.inPostgresTx(ctx, func(ctx context.Context, t *tx) error {
			return acceptGroup(ctx, t, answers, &xid)
		})
		var ce *commitError
		if errors.As(err, &ce) {
			return b.l.xactFate(xid, err)
		}
		if !errors.Is(err, errKeyRace) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrKeyBusy, err)
}
