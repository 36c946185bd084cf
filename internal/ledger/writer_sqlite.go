package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// writer is the one goroutine that writes to SQLite. Operations that wait
// together share one commit: each runs under its own savepoint, so one that
// fails takes nothing of the others with it. A caller hears of success only
// after the commit, with synchronous=FULL: what it was told is on the disk.
type writer struct {
	conn  *sql.Conn
	stmts *stmtCache
	clock func() time.Time
	ops   chan *writeOp
	quit  chan struct{}
	wg    sync.WaitGroup

	mu     sync.RWMutex
	closed bool
}

type writeOp struct {
	ctx   context.Context
	fn    func(context.Context, *tx) error
	err   error
	taken atomic.Bool
	done  chan struct{}
}

const (
	// Callers that wait for the writer block on this channel; its bound only
	// sets how many of them one commit can take without a second look.
	writerQueue = 256
	// A group ends at this many operations or after this long, so that a
	// stream of arrivals cannot put off the commit.
	writerGroup     = 256
	writerGroupTime = 20 * time.Millisecond
)

var errClosed = errors.New("the ledger is closed")

func newWriter(conn *sql.Conn, clock func() time.Time) *writer {
	w := &writer{
		conn:  conn,
		stmts: &stmtCache{conn: conn, m: map[string]*sql.Stmt{}},
		clock: clock,
		ops:   make(chan *writeOp, writerQueue),
		quit:  make(chan struct{}),
	}
	w.wg.Go(w.loop)
	return w
}

// do runs fn in the next group. A caller whose context ends before fn has
// started is released and fn never runs; once it has started the caller waits
// for the commit, since only that tells what happened.
func (w *writer) do(ctx context.Context, fn func(context.Context, *tx) error) error {
	op := &writeOp{ctx: ctx, fn: fn, done: make(chan struct{})}
	if err := w.send(ctx, op); err != nil {
		return err
	}
	select {
	case <-op.done:
		return op.err
	case <-ctx.Done():
		if op.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-op.done
		return op.err
	}
}

// send holds the read lock, so that nothing is handed over after close has begun.
func (w *writer) send(ctx context.Context, op *writeOp) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return errClosed
	}
	select {
	case w.ops <- op:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *writer) loop() {
	for {
		select {
		case op := <-w.ops:
			w.group(op)
		case <-w.quit:
			for {
				select {
				case op := <-w.ops:
					w.group(op)
				default:
					return
				}
			}
		}
	}
}

// group runs first and all that wait behind it, and commits once.
func (w *writer) group(first *writeOp) {
	ctx := context.Background()
	var ran []*writeOp
	begun := false
	deadline := time.Now().Add(writerGroupTime)
	for op := first; op != nil; {
		if op.taken.CompareAndSwap(false, true) {
			if !begun {
				if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
					op.err = fmt.Errorf("begin: %w", err)
					close(op.done)
					return
				}
				begun = true
			}
			op.err = w.run(ctx, op)
			ran = append(ran, op)
		}
		op = nil
		if len(ran) < writerGroup && time.Now().Before(deadline) {
			select {
			case op = <-w.ops:
			default:
			}
		}
	}
	if !begun {
		return
	}
	if _, err := w.conn.ExecContext(ctx, "COMMIT"); err != nil {
		_, rollbackErr := w.conn.ExecContext(ctx, "ROLLBACK")
		for _, op := range ran {
			if op.err == nil {
				op.err = &commitError{err: errors.Join(err, rollbackErr)}
			}
		}
	}
	for _, op := range ran {
		close(op.done)
	}
}

func (w *writer) run(ctx context.Context, op *writeOp) error {
	sp := &tx{dialect: sqlite, q: w.conn, clock: w.clock, stmts: w.stmts}
	if _, err := sp.exec(ctx, "SAVEPOINT op"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	err := op.fn(ctx, sp)
	if err != nil {
		if _, back := sp.exec(ctx, "ROLLBACK TO op"); back != nil {
			err = errors.Join(err, back)
		}
	}
	if _, rel := sp.exec(ctx, "RELEASE op"); rel != nil {
		err = errors.Join(err, fmt.Errorf("release savepoint: %w", rel))
	}
	return err
}

func (w *writer) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.quit)
	}
	w.mu.Unlock()
	w.wg.Wait()
	return w.conn.Close()
}

// commitError says that COMMIT did not answer with success: whether the
// transaction is there must be looked up.
type commitError struct{ err error }

func (e *commitError) Error() string { return "commit: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }
