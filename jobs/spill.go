package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// SpillConfig bounds a Spiller. Zero fields have the defaults.
type SpillConfig struct {
	// Rows is the most rows of one flush (1,000), Bytes the most payload (4 MiB).
	Rows  int
	Bytes int64
	// Wait is how long a row waits for company while no flush is under way
	// (2 ms). Under way, the next flush gathers what comes.
	Wait time.Duration
	// MaxRows and MaxBytes bound what is accumulated (10,000 rows, 64 MiB):
	// callers beyond them wait for room.
	MaxRows  int
	MaxBytes int64
	// Timeout ends a flush (30 s).
	Timeout time.Duration
}

func (c SpillConfig) withDefaults() SpillConfig {
	if c.Rows == 0 {
		c.Rows = 1000
	}
	if c.Bytes == 0 {
		c.Bytes = 4 << 20
	}
	if c.Wait == 0 {
		c.Wait = 2 * time.Millisecond
	}
	if c.MaxRows == 0 {
		c.MaxRows = 10_000
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = 64 << 20
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	return c
}

// Spiller is an outbox whose Insert writes rows of many callers together: one
// transaction for those that come at the same time. A caller's Insert returns when
// its rows are committed, never when they were accumulated, so what dies with the
// process had no answer. A flush that fails fails exactly the calls with rows in
// it. Rows are written in the order in which the calls came.
type Spiller struct {
	Outbox
	config SpillConfig

	mu     sync.Mutex
	room   *sync.Cond
	closed bool
	parts  []*spillPart // in order, not yet taken by a flush
	rows   int          // accumulated or being flushed
	bytes  int64
	wake   chan struct{} // of capacity 1: parts were added, or closed was set
	full   chan struct{} // of capacity 1: enough for a flush
	done   chan struct{}
	abort  context.CancelFunc
	failed int // rows that could not be written while closing
}

// spillPart is what one call has in one flush.
type spillPart struct {
	rows     []Insertion
	bytes    int64
	inserted []Inserted
	err      error
	done     chan struct{}
}

// NewSpiller starts a spiller; Close ends it.
func NewSpiller(outbox Outbox, config SpillConfig) *Spiller {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Spiller{
		Outbox: outbox,
		config: config.withDefaults(),
		wake:   make(chan struct{}, 1),
		full:   make(chan struct{}, 1),
		done:   make(chan struct{}),
		abort:  cancel,
	}
	s.room = sync.NewCond(&s.mu)
	go s.run(ctx)
	return s
}

// Insert commits rows. An error means that none, some or all of them may be
// written: they may be written again under the same ids. Payloads must not be
// changed before it returns, nor after it when its context ended first.
func (s *Spiller) Insert(ctx context.Context, rows []Insertion) ([]Inserted, error) {
	parts, err := s.accept(ctx, rows)
	inserted := make([]Inserted, 0, len(rows))
	for _, part := range parts {
		select {
		case <-part.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for rows to be written: %w", ctx.Err())
		}
		err = errors.Join(err, part.err)
		inserted = append(inserted, part.inserted...)
	}
	if err != nil {
		return nil, err
	}
	return inserted, nil
}

// accept accumulates rows in parts, as there is room for them.
func (s *Spiller) accept(ctx context.Context, rows []Insertion) ([]*spillPart, error) {
	// A Cond does not know contexts: whoever waits is woken when its ends.
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.room.Broadcast()
	})
	defer stop()
	var parts []*spillPart
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	for len(rows) > 0 {
		for s.rows >= s.config.MaxRows || s.bytes >= s.config.MaxBytes {
			if err := ctx.Err(); err != nil {
				return parts, fmt.Errorf("wait for room to accumulate rows: %w", err)
			}
			s.room.Wait()
			if s.closed {
				return parts, ErrClosed
			}
		}
		part := &spillPart{done: make(chan struct{})}
		n := 0
		for n < min(len(rows), s.config.Rows) && (n == 0 || part.bytes+int64(len(rows[n].Payload)) <= s.config.Bytes) {
			part.bytes += int64(len(rows[n].Payload))
			n++
		}
		part.rows, rows = slices.Clone(rows[:n]), rows[n:] // the caller may leave before the flush
		s.parts = append(s.parts, part)
		s.rows += n
		s.bytes += part.bytes
		parts = append(parts, part)
		signal(s.wake)
		if s.rows >= s.config.Rows || s.bytes >= s.config.Bytes {
			signal(s.full)
		}
	}
	return parts, nil
}

// signal never blocks: one signal says as much as many.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run flushes until it is closed and nothing is left. One flush at a time keeps
// the order.
func (s *Spiller) run(ctx context.Context) {
	defer close(s.done)
	for {
		batch, closed := s.take()
		switch {
		case len(batch) > 0:
			s.flush(ctx, batch, closed)
		case closed:
			return
		default:
			<-s.wake
			s.linger()
		}
	}
}

// linger waits for company.
func (s *Spiller) linger() {
	timer := time.NewTimer(s.config.Wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.full:
	}
}

// take takes the oldest parts that make one flush.
func (s *Spiller) take() (batch []*spillPart, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, bytes := 0, int64(0)
	n := 0
	for n < len(s.parts) {
		part := s.parts[n]
		if n > 0 && (rows+len(part.rows) > s.config.Rows || bytes+part.bytes > s.config.Bytes) {
			break
		}
		rows += len(part.rows)
		bytes += part.bytes
		n++
	}
	batch = s.parts[:n:n]
	s.parts = s.parts[n:]
	return batch, s.closed
}

// closeTries is how often a flush is tried while closing, when the callers cannot
// be told to come again.
const closeTries = 5

func (s *Spiller) flush(ctx context.Context, batch []*spillPart, closing bool) {
	var rows []Insertion
	for _, part := range batch {
		rows = append(rows, part.rows...)
	}
	inserted, err := s.insert(ctx, rows)
	for try := 1; err != nil && closing && try < closeTries && ctx.Err() == nil; try++ {
		inserted, err = s.insert(ctx, rows)
	}
	s.mu.Lock()
	if err != nil && closing {
		s.failed += len(rows)
	}
	for _, part := range batch {
		s.rows -= len(part.rows)
		s.bytes -= part.bytes
	}
	s.room.Broadcast()
	s.mu.Unlock()
	for _, part := range batch {
		if err != nil {
			part.err = fmt.Errorf("write rows: %w", err)
		} else {
			part.inserted, inserted = inserted[:len(part.rows):len(part.rows)], inserted[len(part.rows):]
		}
		close(part.done)
	}
}

func (s *Spiller) insert(ctx context.Context, rows []Insertion) ([]Inserted, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	inserted, err := s.Outbox.Insert(ctx, rows)
	if err == nil && len(inserted) != len(rows) {
		return nil, fmt.Errorf("the outbox answered %d of %d rows", len(inserted), len(rows))
	}
	return inserted, err
}

// Depth is how many rows wait to be written or are being written.
func (s *Spiller) Depth() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows
}

// Close takes no more rows and writes those that are accumulated, until ctx ends.
// Its error says how many rows could not be written; their callers were told.
func (s *Spiller) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.room.Broadcast()
	s.mu.Unlock()
	signal(s.wake)
	signal(s.full)
	defer s.abort()
	select {
	case <-s.done:
	case <-ctx.Done():
		s.abort()
		<-s.done
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed > 0 {
		return fmt.Errorf("%d rows could not be written before the end", s.failed)
	}
	return nil
}
