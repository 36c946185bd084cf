package queue_test

import (
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/app/queue"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
)

// universal is how one server is spoken to.
func universal(t *testing.T, url string) *redis.UniversalOptions {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	return &redis.UniversalOptions{Addrs: []string{o.Addr}, Username: o.Username, Password: o.Password, DB: o.DB}
}

// A queue's keys lie on one node of a cluster, whichever its name leads to: two queues
// run on all three nodes between them, from whichever node they know first.
func TestQueuesOnACluster(t *testing.T) {
	t.Parallel()
	nodes := testserver.RedisCluster(t)
	for i, name := range []string{"jobs:one", "jobs:another", "jobs:a third"} {
		o := universal(t, nodes[i].URL())
		o.IsClusterMode = true
		r, outbox := newRuns(), embedded(t)
		q := start(t, queue.Config{
			Outbox: outbox, Registry: r.registry(t, name), Owner: name, Redis: o, Name: name, Alone: true,
			Limits: jobs.Limits{Jobs: 20}, Log: slog.New(slog.DiscardHandler),
		})
		enqueue(t, q, 100) // and most of them overflow
		r.await(t, 100)
		empty(t, outbox)
		if s := q.State(t.Context()); s.Fault != nil || s.Depth == nil || s.Depth.Jobs != 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if warning, err := q.CheckPolicy(t.Context()); err != nil || warning != "" {
			t.Errorf("%s: %q (%v)", name, warning, err)
		}
	}
	// One master that drops is enough.
	o := universal(t, nodes[2].URL())
	client := redis.NewUniversalClient(o)
	defer client.Close()
	if err := client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	o = universal(t, nodes[0].URL())
	o.IsClusterMode = true
	cluster := redis.NewUniversalClient(o)
	defer cluster.Close()
	if policy, err := queue.EvictionPolicy(t.Context(), cluster); err != nil || policy != "allkeys-lru" {
		t.Errorf("the cluster's policy: %q (%v)", policy, err)
	}
}
