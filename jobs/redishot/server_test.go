package redishot_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/hottest"
	"github.com/postledger/postledger/jobs/redishot"
)

// TestCluster runs the suite on a Redis Cluster (of one node, which checks that
// every call keeps to one slot as a large one does).
func TestCluster(t *testing.T) {
	t.Parallel()
	url := testserver.PrivateRedis(t, "appendonly=no", "cluster-enabled=yes").URL()
	node := connect(t, url)
	ctx := context.Background()
	if err := node.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for ok := false; !ok; {
		info, err := node.ClusterInfo(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		ok = len(info) > 16 && info[:16] == "cluster_state:ok"
	}
	var ids jobs.IDSource
	hottest.Run(t, func(tb testing.TB, limits jobs.Limits) func() jobs.Hot {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{node.Options().Addr}, Username: node.Options().Username, Password: node.Options().Password})
		tb.Cleanup(func() { _ = client.Close() })
		name := ids.Next(time.Now()).String()
		return func() jobs.Hot {
			set, err := redishot.New(client, name, limits)
			if err != nil {
				tb.Fatal(err)
			}
			return set
		}
	})
}

// TestClocksThatJump writes the deadlines of a server whose clock was hours ahead.
func TestClocksThatJump(t *testing.T) {
	t.Parallel()
	url, name := testserver.Redis(t)
	client := connect(t, url)
	set := open(t, client, name, jobs.Limits{})
	ctx := context.Background()
	var ids jobs.IDSource
	if _, err := set.Add(ctx, jobs.Add{Entries: manyOf(&ids, 3, 10)}); err != nil {
		t.Fatal(err)
	}
	take := jobs.Take{Max: 2, MaxSlow: 2, Lease: time.Minute}
	held, err := set.Take(ctx, take)
	if err != nil || len(held) != 2 {
		t.Fatalf("took %d jobs: %v", len(held), err)
	}
	if _, err := set.Return(ctx, []jobs.Return{{Held: held[0], Delay: time.Second}}); err != nil {
		t.Fatal(err)
	}
	if err := set.Raise(ctx, []jobs.Scope{{Lane: jobs.Slow}}); err != nil {
		t.Fatal(err)
	}
	// All of it two hours ahead.
	ahead := float64(time.Now().Add(2 * time.Hour).UnixMilli())
	for _, key := range []string{"lease", "delay"} {
		members, err := client.ZRange(ctx, "{"+name+"}:"+key, 0, -1).Result()
		if err != nil || len(members) != 1 {
			t.Fatalf("%s holds %d members: %v", key, len(members), err)
		}
		if err := client.ZAdd(ctx, "{"+name+"}:"+key, redis.Z{Score: ahead, Member: members[0]}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.HSet(ctx, "{"+name+"}:meta", "xs", "1:1:99999999999999:0").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Take(ctx, take); err != nil {
		t.Fatal(err)
	}
	for key, most := range map[string]time.Duration{"lease": jobs.MaxLease, "delay": jobs.HotHorizon} {
		scores, err := client.ZRevRangeWithScores(ctx, "{"+name+"}:"+key, 0, 0).Result()
		if err != nil || len(scores) != 1 {
			t.Fatalf("%s holds %d members: %v", key, len(scores), err)
		}
		if left := time.Until(time.UnixMilli(int64(scores[0].Score))); left > most {
			t.Errorf("the %s still ends in %v, at most %v is believed", key, left, most)
		}
	}
	flags, err := set.Flags(ctx)
	if err != nil || len(flags) != 1 {
		t.Fatalf("%d flags: %v", len(flags), err)
	}
	text, err := client.HGet(ctx, "{"+name+"}:meta", "xs").Result()
	if err != nil || text == "1:1:99999999999999:0" {
		t.Errorf("the flag is still %q, %v", text, err)
	}
}

func TestEpochChangesWithTheData(t *testing.T) {
	t.Parallel()
	url, name := testserver.Redis(t)
	client := connect(t, url)
	set := open(t, client, name, jobs.Limits{})
	ctx := context.Background()
	first, err := set.Epoch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Del(ctx, "{"+name+"}:meta").Err(); err != nil {
		t.Fatal(err)
	}
	second, err := set.Epoch(ctx)
	if err != nil || second == first || second == "" {
		t.Fatalf("the epoch is %q, and before it was %q: %v", second, first, err)
	}
}

// TestServerInTrouble looks at every call when the server refuses to write, and
// when it is gone.
func TestServerInTrouble(t *testing.T) {
	t.Parallel()
	server := testserver.PrivateRedis(t, "appendonly=no")
	client := connect(t, server.URL())
	options := *client.Options()
	options.MaxRetries, options.DialerRetries = -1, 1 // the answer is the same, and takes less time
	once := redis.NewClient(&options)
	t.Cleanup(func() { _ = once.Close() })
	set := open(t, once, "q", jobs.Limits{})
	ctx := context.Background()
	var ids jobs.IDSource
	entries := manyOf(&ids, 3, 100)
	if _, err := set.Add(ctx, jobs.Add{Entries: entries[:1]}); err != nil {
		t.Fatal(err)
	}
	if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	answers, err := set.Add(ctx, jobs.Add{Entries: entries[1:]})
	if !errors.Is(err, jobs.ErrUnavailable) || len(answers) != 2 || answers[0] != jobs.Unanswered {
		t.Errorf("a full server: %v, %v", answers, err)
	}
	server.Kill()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	held := []*jobs.Held{{Entry: entries[0]}}
	for name, call := range map[string]func() error{
		"add":      func() error { _, err := set.Add(ctx, jobs.Add{Entries: entries}); return err },
		"settle":   func() error { return set.Settle(ctx, []jobs.SpillID{{1}}) },
		"take":     func() error { _, err := set.Take(ctx, jobs.Take{Max: 1, Lease: time.Second}); return err },
		"ack":      func() error { _, err := set.Ack(ctx, held); return err },
		"return":   func() error { _, err := set.Return(ctx, []jobs.Return{{Held: held[0]}}); return err },
		"extend":   func() error { _, err := set.Extend(ctx, held, time.Second); return err },
		"depth":    func() error { _, err := set.Depth(ctx); return err },
		"contains": func() error { _, err := set.Contains(ctx, []jobs.ID{{}}); return err },
		"room":     func() error { return set.AwaitRoom(ctx, jobs.Fast) },
		"hold":     func() error { return set.Hold(ctx, "g", time.Now()) },
		"flags":    func() error { _, err := set.Flags(ctx); return err },
		"raise":    func() error { return set.Raise(ctx, []jobs.Scope{{Lane: jobs.Fast}}) },
		"renew":    func() error { return set.Renew(ctx, []jobs.Flag{{}}) },
		"clear":    func() error { _, err := set.Clear(ctx, jobs.Flag{}, nil); return err },
		"epoch":    func() error { _, err := set.Epoch(ctx); return err },
	} {
		if err := call(); !errors.Is(err, jobs.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
