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
//
// When SQLite rolls the shared transaction back by itself (disk full, I/O
// error), the group ends there: all that ran in it fail, knowing that nothing
// was committed, and what was not yet taken goes to the next group.
type writer struct {
	conn  *sql.Conn
	tx    *sqliteTx
	stmts *stmtCache
	clock func() time.Time
	ops   chan *writeOp
	quit  chan struct{}
	wg    sync.WaitGroup
	// groupTime is writerGroupTime but in tests.
	groupTime time.Duration

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

var (
	errClosed = errors.New("the ledger is closed")
	// errUncommitted: the group that an operation was in is undone, or could not
	// begin. It says nothing about the operation.
	errUncommitted = errors.New("nothing was committed")
)

func newWriter(conn *sql.Conn, clock func() time.Time) (*writer, error) {
	t, err := newSQLiteTx(conn)
	if err != nil {
		return nil, err
	}
	w := &writer{
		conn:      conn,
		tx:        t,
		stmts:     &stmtCache{conn: conn, m: map[string]*sql.Stmt{}},
		clock:     clock,
		ops:       make(chan *writeOp, writerQueue),
		quit:      make(chan struct{}),
		groupTime: writerGroupTime,
	}
	w.wg.Go(w.loop)
	return w, nil
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
	var failed error // the whole group
	deadline := time.Now().Add(w.groupTime)
	for op := first; op != nil && failed == nil; {
		if op.taken.CompareAndSwap(false, true) {
			if len(ran) == 0 {
				if err := w.tx.begin(ctx); err != nil {
					op.err = fmt.Errorf("%w: %w", errUncommitted, err)
					close(op.done)
					return
				}
			}
			ran = append(ran, op)
			failed = w.run(ctx, op)
		}
		op = nil
		if failed == nil && len(ran) < writerGroup && time.Now().Before(deadline) {
			select {
			case op = <-w.ops:
			default:
			}
		}
	}
	if len(ran) == 0 {
		return
	}
	if failed != nil {
		failed = errors.Join(failed, w.tx.rollback(ctx))
	} else {
		failed = w.tx.commit(ctx)
	}
	for _, op := range ran {
		// Also one that was refused: what it was refused for may be undone.
		if failed != nil {
			op.err = groupError(failed, op.err != nil)
		}
		close(op.done)
	}
}

// groupError is what an operation hears of a group that failed. One that had
// failed by itself before COMMIT is not in the file, whatever became of that.
// The cause is told and not wrapped: it may be another operation's refusal.
func groupError(failed error, undone bool) error {
	var open *commitError
	if errors.As(failed, &open) && !undone {
		return failed
	}
	return fmt.Errorf("%w: %s", errUncommitted, failed)
}

// run runs one operation under its savepoint. Its own error is the operation's;
// what it returns is the group's: the transaction is gone, or holds what it
// must not.
func (w *writer) run(ctx context.Context, op *writeOp) (failed error) {
	sp := &tx{dialect: sqlite, q: w.conn, clock: w.clock, stmts: w.stmts}
	if _, err := sp.exec(ctx, "SAVEPOINT op"); err != nil {
		op.err = fmt.Errorf("savepoint: %w", err)
		return w.ended(op.err)
	}
	op.err = op.fn(ctx, sp)
	if op.err == nil {
		op.err = sp.flush(ctx)
	}
	if err := w.ended(op.err); err != nil {
		return err
	}
	if op.err != nil {
		if _, err := sp.exec(ctx, "ROLLBACK TO op"); err != nil {
			return errors.Join(op.err, fmt.Errorf("roll back to savepoint: %w", err))
		}
	}
	if _, err := sp.exec(ctx, "RELEASE op"); err != nil {
		return errors.Join(op.err, fmt.Errorf("release savepoint: %w", err))
	}
	return nil
}

// ended is the cause, if the transaction is not there any more.
func (w *writer) ended(cause error) error {
	switch {
	case w.tx.open:
		return nil
	case cause == nil:
		return errEnded
	default:
		return cause
	}
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

// commitError says that COMMIT did not answer with success, and that the
// transaction may be there: it must be looked up.
type commitError struct{ err error }

func (e *commitError) Error() string { return "commit: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }
