package hottest

import (
	"context"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func testWaiting(t *testing.T, open Open) {
	t.Run("a worker that waits is given the job soon", func(t *testing.T) {
		handle := open(t, jobs.Limits{})
		taker := &set{TB: t, Hot: handle()}
		adder := &set{TB: t, Hot: handle()}
		got := make(chan time.Time)
		go func() {
			held, err := taker.Hot.Take(taker.ctx(), jobs.Take{Max: 1, MaxSlow: 1, Lease: time.Minute, Wait: patience / 2})
			if err == nil && len(held) == 1 {
				got <- time.Now()
			}
			close(got)
		}()
		e := adder.entry()
		adder.expect(jobs.Added, e)
		began := time.Now()
		at, ok := <-got
		if !ok || at.Sub(began) > patience/4 {
			t.Fatalf("the job was not taken at once: %v, %v", ok, at.Sub(began))
		}
	})
	t.Run("it waits no longer than it was told", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		began := time.Now()
		held := s.takeWith(jobs.Take{Max: 1, MaxSlow: 1, Lease: time.Minute, Wait: 50 * time.Millisecond})
		if took := time.Since(began); len(held) != 0 || took < 45*time.Millisecond {
			t.Fatalf("%d jobs after %v", len(held), took)
		}
	})
	t.Run("it stops when its context ends", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			_, err := s.Hot.Take(ctx, jobs.Take{Max: 1, MaxSlow: 1, Lease: time.Minute, Wait: patience})
			done <- err
		}()
		cancel()
		if err := <-done; err != nil {
			t.Fatalf("a wait that was ended is an error: %v", err)
		}
	})
	t.Run("room is told", func(t *testing.T) {
		s := opened(t, open, jobs.Limits{Jobs: 10})
		s.expect(jobs.Added, s.entries(10)...)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.AwaitRoom(s.ctx(), jobs.Fast) }()
		s.ack(true, s.take(3, 3)...)
		s.no(<-done)
		if d := s.depth(); !d.Fast.Below {
			t.Fatalf("told of room at %+v", d)
		}
		s.expect(jobs.Added, s.entries(3)...)
		cancel()
		s.no(s.AwaitRoom(ctx, jobs.Fast))
	})
}
