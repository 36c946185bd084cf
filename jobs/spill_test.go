package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// gate is an outbox that lets a test decide when, and how, a flush ends.
type gate struct {
	jobs.Outbox
	flushes chan []jobs.Insertion
	ends    chan error
}

func newGate(o jobs.Outbox) *gate {
	return &gate{Outbox: o, flushes: make(chan []jobs.Insertion), ends: make(chan error)}
}

func (g *gate) Insert(ctx context.Context, rows []jobs.Insertion) ([]jobs.Inserted, error) {
	select {
	case g.flushes <- rows:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case err := <-g.ends:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return g.Outbox.Insert(ctx, rows)
}

type result struct {
	rows []jobs.Inserted
	err  error
}

// insert calls Insert beside the test.
func insertBeside(s *jobs.Spiller, ctx context.Context, entries ...jobs.Entry) <-chan result {
	c := make(chan result, 1)
	rows := make([]jobs.Insertion, len(entries))
	for i := range entries {
		rows[i].Entry = entries[i]
	}
	go func() {
		got, err := s.Insert(ctx, rows)
		c <- result{got, err}
	}()
	return c
}

func (b *drainBench) spiller(o jobs.Outbox, config jobs.SpillConfig) *jobs.Spiller {
	s := jobs.NewSpiller(o, config)
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Close(ctx)
	})
	return s
}

// A call returns when its rows are committed, and a flush that fails fails those
// whose rows were in it and nobody else.
func TestSpillerAnswersAfterTheCommitAndFailsExactlyItsCallers(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{})
	g := newGate(b.outbox)
	s := b.spiller(g, jobs.SpillConfig{})
	first := insertBeside(s, t.Context(), b.entry())
	rows := <-g.flushes
	// While it is under way two more come; they share the next flush.
	one, two := b.entry(), b.entry()
	a, c := insertBeside(s, t.Context(), one), insertBeside(s, t.Context(), two)
	b.eventually("both are accumulated", func() bool { return s.Depth() == 3 })
	select {
	case r := <-first:
		t.Fatalf("answered %+v before the commit of %d rows", r, len(rows))
	default:
	}
	boom := errors.New("disk full")
	g.ends <- boom
	if r := <-first; !errors.Is(r.err, boom) {
		t.Errorf("the caller of the failed flush got %+v", r)
	}
	if rows := <-g.flushes; len(rows) != 2 {
		t.Fatalf("the next flush has %d rows, want both that came", len(rows))
	}
	g.ends <- nil
	for _, call := range []<-chan result{a, c} {
		if r := <-call; r.err != nil || len(r.rows) != 1 || !r.rows[0].Fresh {
			t.Errorf("the caller of the next flush got %+v", r)
		}
	}
	if n := b.backlog().Rows(); n != 2 {
		t.Errorf("%d rows are committed, want 2", n)
	}
	if s.Depth() != 0 {
		t.Errorf("%d rows are accumulated still", s.Depth())
	}
}

func TestSpillerIsBounded(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{})
	g := newGate(b.outbox)
	s := b.spiller(g, jobs.SpillConfig{Rows: 10, MaxRows: 25})
	ctx, cancel := context.WithCancel(t.Context())
	call := insertBeside(s, ctx, b.entries(100)...)
	if rows := <-g.flushes; len(rows) != 10 {
		t.Fatalf("a flush has %d rows, want 10", len(rows))
	}
	b.eventually("it is full", func() bool { return s.Depth() == 30 }) // 10, 10, and the 10 that pass 25
	cancel()
	if r := <-call; !errors.Is(r.err, context.Canceled) {
		t.Errorf("the caller that gave up got %+v", r)
	}
	g.ends <- nil
	for range 2 {
		<-g.flushes
		g.ends <- nil
	}
	b.eventually("what was accumulated is written", func() bool { return b.backlog().Rows() == 30 })
}

func TestSpillerKeepsTheOrderOfManyCallers(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{})
	s := b.spiller(b.outbox, jobs.SpillConfig{Rows: 7})
	const callers, calls = 8, 25
	lists := make([][]jobs.Entry, callers)
	var wg sync.WaitGroup
	for n := range lists {
		lists[n] = b.entries(calls, groupOf(string(rune('a'+n))))
		wg.Go(func() {
			for i := range lists[n] {
				if r := <-insertBeside(s, context.Background(), lists[n][i]); r.err != nil || r.rows[0].ID != lists[n][i].ID {
					t.Errorf("got %+v", r)
				}
			}
		})
	}
	wg.Wait()
	for _, list := range lists {
		rows, err := b.outbox.Waiting(t.Context(), jobs.Page{Scope: list[0].Scope(), Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]jobs.Entry, len(rows))
		for i := range rows {
			got[i] = rows[i].Entry
		}
		wantOrder(t, got, list)
	}
}

// At the end what is accumulated is written, with some tries; what cannot be is
// said, and its callers are told.
func TestSpillerClose(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{})
	g := newGate(b.outbox)
	s := b.spiller(g, jobs.SpillConfig{Rows: 10})
	written := insertBeside(s, t.Context(), b.entries(10)...)
	<-g.flushes
	lost := insertBeside(s, t.Context(), b.entries(3)...)
	b.eventually("accumulated", func() bool { return s.Depth() == 13 })
	closed := make(chan error, 1)
	go func() { closed <- s.Close(context.Background()) }()
	b.eventually("closed", func() bool {
		_, err := s.Insert(t.Context(), nil)
		return errors.Is(err, jobs.ErrClosed)
	})
	g.ends <- nil
	if r := <-written; r.err != nil {
		t.Errorf("the first caller got %v", r.err)
	}
	for range 5 {
		<-g.flushes
		g.ends <- errors.New("no")
	}
	if r := <-lost; r.err == nil {
		t.Error("the caller whose rows were lost was told that they are written")
	}
	if err := <-closed; err == nil || !strings.Contains(err.Error(), "3 rows") {
		t.Errorf("close says %v, want that 3 rows could not be written", err)
	}
}
