package jobs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/redishot"
)

// Redis is killed while jobs are enqueued and run through a set a tenth as large.
// With its data every job runs in every mode; without it, every job that has a row
// does. None is lost, and what runs again is the same job.
func TestJobsOutliveRedis(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode jobs.Mode
		wipe bool
	}{
		"rows stay, restarted empty":         {jobs.Always, true},
		"rows stay, restarted with its data": {jobs.Always, false},
		"overflow, restarted with its data":  {jobs.Overflow, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newDrainBench(t, jobs.Limits{})
			server := testserver.PrivateRedis(t)
			options, err := redis.ParseURL(server.URL())
			if err != nil {
				t.Fatal(err)
			}
			options.MaxRetries, options.DialTimeout, options.ReadTimeout = -1, time.Second, time.Second
			client := redis.NewClient(options)
			t.Cleanup(func() { client.Close() })
			if b.hot, err = redishot.New(client, "faults", jobs.Limits{Jobs: 30}); err != nil {
				t.Fatal(err)
			}
			drain, _ := b.drain(jobs.DrainConfig{Idle: 20 * time.Millisecond, LostAge: 50 * time.Millisecond, Sweep: 50 * time.Millisecond})
			producer, err := jobs.NewClient(b.hot, b.outbox, jobs.ClientOptions{Mode: c.mode, Wake: drain.Wake, HotPause: 10 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}

			var mu sync.Mutex
			runs := map[int]int{}
			ran := func() int {
				mu.Lock()
				defer mu.Unlock()
				return len(runs)
			}
			registry := jobs.NewRegistry()
			err = jobs.Handle(registry, "count", func(_ context.Context, payload int) error {
				mu.Lock()
				defer mu.Unlock()
				runs[payload]++
				return nil
			}, jobs.Handling{})
			if err != nil {
				t.Fatal(err)
			}
			worker, err := jobs.NewWorker(b.hot, b.outbox, registry, jobs.WorkerOptions{Slots: 4, Lease: 500 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- worker.Run(ctx) }()
			t.Cleanup(func() {
				cancel()
				<-done
			})

			const total = 300
			for n := range total {
				if n == total/2 {
					b.eventually("some have run", func() bool { return ran() > 20 })
					server.Kill()
					if c.wipe {
						server.Wipe()
					}
				}
				if n == total*3/4 {
					server.Start()
				}
				if _, err := producer.Enqueue(ctx, jobs.Job{Handler: "count", Payload: fmt.Append(nil, n)}); err != nil {
					t.Fatalf("job %d was refused: %v", n, err)
				}
			}
			b.eventually("all have run", func() bool { return ran() == total })
			b.eventually("no row is left", func() bool { left := b.backlog(); return left.Rows()+left.Admitted == 0 })
			mu.Lock()
			defer mu.Unlock()
			again := 0
			for _, n := range runs {
				again += n - 1
			}
			t.Logf("%d of %d ran again", again, total)
			// At most what was hot or under way can run twice: 33 with the reserve,
			// and 4 slots.
			if again > 37 {
				t.Errorf("%d of %d ran again, more than were hot", again, total)
			}
		})
	}
}
