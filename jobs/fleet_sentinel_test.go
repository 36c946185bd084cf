package jobs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
)

// TestAFleetFollowsSentinels: the Redis server dies, or is frozen and comes back when
// another has taken its place, while producers, workers and the drain go on. They follow
// the Sentinels to the replica. Every job runs, also those that the replica had not been
// told of, and nobody who enqueues waits for the end of it.
func TestAFleetFollowsSentinels(t *testing.T) {
	t.Parallel()
	followSentinels(t, 800, time.Minute)
}

func TestAFleetFollowsSentinelsLong(t *testing.T) {
	long(t)
	followSentinels(t, 50_000, 10*time.Minute)
}

func followSentinels(t *testing.T, each int, patience time.Duration) {
	for name, fail := range map[string]func(r *testserver.WatchedRedis){
		"killed": func(r *testserver.WatchedRedis) { r.Server.Kill(); r.AwaitFailover() },
		"frozen": func(r *testserver.WatchedRedis) { r.Server.Pause(); r.AwaitFailover(); r.Server.Resume() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const producers, slots = 2, 10
			r := testserver.RedisWithSentinels(t)
			config := memberConfig{Mode: jobs.Always, Limits: serverLimits, Jobs: each, Batch: 25, Lane: jobs.Fast, Payload: 300, Slots: slots}
			config.Sentinels, config.SentinelPassword = r.Sentinels, r.SentinelPassword
			f := newFleetOn(t, config, r.Server.URL(), testserver.Postgres(t))
			f.drainer("")
			f.worker()
			f.worker()
			ends := []*member{f.producer(1), f.producer(2)}
			f.await("a part has run", patience, 0, func() bool { return f.ran() >= producers*each/4 })

			var enqueuing sync.WaitGroup
			defer enqueuing.Wait()
			failing, over := context.WithCancel(context.Background())
			defer over()
			var took time.Duration
			enqueuing.Go(func() { took = f.enqueueUntil(failing) })
			fail(r)
			over()
			enqueuing.Wait()
			// The client's patience with the hot set is two seconds, and the row is written.
			if took > 5*time.Second {
				t.Errorf("a job was enqueued in %v", took)
			}
			for _, m := range ends {
				<-m.done
				if m.err != nil {
					t.Errorf("a producer ended: %v", m.err)
				}
			}
			f.empty(patience)
			f.all(producers, each)
			f.noDeadlock()
			_, others := f.causes()
			// What was hot, or being run or written, when the server went.
			if most := serverLimits.Jobs + 6*slots + 2*25; others > most {
				t.Errorf("%d runs were further ones, more than %d", others, most)
			}
			t.Logf("%d jobs ran, %d runs were further ones; meanwhile a job was enqueued in at most %v", f.ran(), others, took)
		})
	}
}

// enqueueUntil enqueues a job after the other as long as ctx lives, and gives the longest
// that one took.
func (f *fleet) enqueueUntil(ctx context.Context) (slowest time.Duration) {
	client, err := jobs.NewClient(f.hot, f.outbox, jobs.ClientOptions{Mode: jobs.Always})
	if err != nil {
		f.Error(err)
		return 0
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		job := jobs.Job{Handler: "h", Lane: jobs.Fast, Payload: fmt.Appendf(nil, "%d %d 1", keyedProducer, n)}
		if _, err := client.Enqueue(context.WithoutCancel(ctx), job); err != nil {
			f.Errorf("enqueue while the server changes: %v", err)
		}
		slowest = max(slowest, time.Since(began))
		<-tick.C
	}
	return slowest
}
