package redishot_test

import (
	"context"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/redishot"
)

// A worker that has nothing to do costs the server 20 calls a second, however short
// its takes are.
func TestAnIdleWorkerAsksSeldom(t *testing.T) {
	t.Parallel()
	options, err := redis.ParseURL(testserver.PrivateRedis(t, "appendonly=no").URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	set, err := redishot.New(client, "idle", jobs.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	const takes, wait = 20, 100 * time.Millisecond
	began := time.Now()
	for range takes {
		held, err := set.Take(t.Context(), jobs.Take{Max: 10, MaxSlow: 5, Lease: time.Minute, Wait: wait})
		if err != nil || len(held) > 0 {
			t.Fatalf("took %d jobs (%v)", len(held), err)
		}
	}
	took := time.Since(began)
	info, err := client.Info(context.Background(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(info)
	if match == nil {
		t.Fatalf("no calls: %s", info)
	}
	// The first few are closer to each other.
	calls, _ := strconv.Atoi(match[1])
	if most := int(took/(50*time.Millisecond)) + 10; calls > most {
		t.Errorf("%d calls in %s, at most %d may be", calls, took, most)
	}
}
