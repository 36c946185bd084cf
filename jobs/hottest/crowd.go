package hottest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// testCrowd lets producers and workers of several processes at one set: no job is
// lost or run twice, the bound is never passed, and each producer's order holds.
func testCrowd(t *testing.T, open Open) {
	const producers, workers, each, most = 4, 3, 800, 60
	handle := open(t, jobs.Limits{Jobs: most, SlowShare: 1})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	var mu sync.Mutex
	runs := map[jobs.ID]int{}
	over := 0
	done := make(chan struct{})

	var working sync.WaitGroup
	for range workers {
		s := &set{TB: t, Hot: handle()}
		working.Go(func() {
			for ctx.Err() == nil {
				held, err := s.Hot.Take(ctx, jobs.Take{Worker: "w", Max: 20, MaxSlow: 20, Lease: time.Minute, Wait: 20 * time.Millisecond})
				if err != nil {
					t.Errorf("take: %v", err)
					return
				}
				depth, err := s.Hot.Depth(ctx)
				if err != nil {
					t.Errorf("depth: %v", err)
					return
				}
				mu.Lock()
				over = max(over, depth.Jobs)
				for _, h := range held {
					runs[h.ID]++
				}
				all := len(runs) == producers*each
				mu.Unlock()
				if acked, err := s.Hot.Ack(ctx, held); err != nil {
					t.Errorf("ack: %v", err)
				} else {
					for _, ok := range acked {
						if !ok {
							t.Error("a lease was lost")
						}
					}
				}
				if all {
					return
				}
			}
		})
	}
	var producing sync.WaitGroup
	for range producers {
		s := &set{TB: t, Hot: handle()}
		producing.Go(func() {
			for _, e := range s.entries(each) {
				// A producer without an outbox: it adds as the drain does until
				// there is room.
				for ctx.Err() == nil {
					out, err := s.Hot.Add(ctx, jobs.Add{Entries: []jobs.Entry{e}, Drain: true})
					if err != nil {
						t.Errorf("add: %v", err)
						return
					}
					if out[0] == jobs.Added {
						break
					}
					if err := s.Hot.AwaitRoom(ctx, jobs.Fast); err != nil {
						t.Errorf("await room: %v", err)
						return
					}
				}
			}
		})
	}
	producing.Wait()
	go func() { working.Wait(); close(done) }()
	<-done
	if ctx.Err() != nil {
		t.Fatalf("%d of %d jobs ran in %v", len(runs), producers*each, patience)
	}
	for id, n := range runs {
		if n != 1 {
			t.Errorf("job %v ran %d times", id, n)
		}
	}
	if over > most {
		t.Errorf("the set held %d jobs, at most %d are allowed", over, most)
	}
	s := &set{TB: t, Hot: handle()}
	s.holds(0)
}
