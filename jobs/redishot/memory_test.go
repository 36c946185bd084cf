package redishot_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/redishot"
)

// server is a Redis of the test's own, whose memory nobody else uses.
func server(tb testing.TB) *redis.Client {
	tb.Helper()
	return connect(tb, testserver.PrivateRedis(tb, "appendonly=no").URL())
}

// usedMemory is what the server says that it uses. Buffers of a call that has
// just ended are freed by then or count too, as they should.
func usedMemory(tb testing.TB, client *redis.Client) int64 {
	tb.Helper()
	info, err := client.Info(context.Background(), "memory").Result()
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return n
		}
	}
	tb.Fatal("the server does not tell its memory")
	return 0
}

func manyOf(source *jobs.IDSource, n, payload int) []jobs.Entry {
	now := time.Now()
	out := make([]jobs.Entry, n)
	data := make([]byte, payload)
	for i := range out {
		out[i] = jobs.Entry{
			Job: jobs.Job{ID: source.Next(now), Handler: "mail.send", Lane: jobs.Fast, Payload: data, MaxAttempts: 5},
			Rev: 1, EnqueuedAt: now,
		}
	}
	return out
}

// TestMemoryIsBounded fills a set several times over, lets everything be active,
// delayed and active again, and looks at the server's memory all the while.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	boundedMemory(t, 15_000, 3_000)
}

func TestMemoryIsBoundedLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("set POSTLEDGER_LONG=1 for a million small payloads and twenty thousand large ones")
	}
	t.Parallel()
	boundedMemory(t, 1_000_000, 20_000)
}

func boundedMemory(t *testing.T, small, large int) {
	for name, test := range map[string]struct {
		payload, jobs int
		most          int64
	}{
		"300 bytes": {300, small, 25_000_000},
		"64 KiB":    {jobs.MaxPayload, large, 80_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := server(t)
			set := open(t, client, "q", jobs.Limits{})
			ctx := context.Background()
			const calls = 1000
			if _, err := set.Depth(ctx); err != nil {
				t.Fatal(err)
			}
			before := usedMemory(t, client)
			peak := func() {
				t.Helper()
				if grown := usedMemory(t, client) - before; grown > test.most {
					t.Fatalf("the server's memory grew by %d bytes, at most %d are allowed", grown, test.most)
				}
			}
			var source jobs.IDSource
			added := 0
			for n := 0; n < test.jobs; n += calls {
				answers, err := set.Add(ctx, jobs.Add{Entries: manyOf(&source, calls, test.payload), Spill: jobs.SpillID{byte(n), byte(n >> 8), 1}})
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range answers {
					if a == jobs.Added {
						added++
					}
				}
				peak()
			}
			t.Logf("%d of %d jobs were added, the server's memory grew by %d bytes", added, test.jobs, usedMemory(t, client)-before)
			var held []*jobs.Held
			for {
				some, err := set.Take(ctx, jobs.Take{Max: 500, MaxSlow: 500, Lease: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				if len(some) == 0 {
					break
				}
				held = append(held, some...)
			}
			if len(held) != added {
				t.Fatalf("took %d jobs of %d", len(held), added)
			}
			peak()
			finish(t, set, held, peak)
			if left := usedMemory(t, client) - before; left > 4_000_000 {
				t.Errorf("%d bytes are left when all jobs are done", left)
			}
			if n, err := client.Exists(ctx, "{q}:job", "{q}:fast", "{q}:lease", "{q}:delay", "{q}:mark").Result(); err != nil || n != 0 {
				t.Errorf("%d keys of jobs are left, %v", n, err)
			}
		})
	}
}

// finish lets every job fail once for later, and then acknowledges all.
func finish(t *testing.T, set *redishot.Set, held []*jobs.Held, peak func()) {
	t.Helper()
	ctx := context.Background()
	var returns []jobs.Return
	for _, h := range held {
		returns = append(returns, jobs.Return{Held: h, Delay: time.Millisecond, Charge: true})
	}
	if _, err := set.Return(ctx, returns); err != nil {
		t.Fatal(err)
	}
	peak()
	for left := len(held); left > 0; {
		some, err := set.Take(ctx, jobs.Take{Max: 500, MaxSlow: 500, Lease: time.Minute, Wait: 10 * time.Second})
		if err != nil || len(some) == 0 {
			t.Fatalf("%d jobs are left, took none: %v", left, err)
		}
		peak()
		if _, err := set.Ack(ctx, some); err != nil {
			t.Fatal(err)
		}
		left -= len(some)
	}
}
