package testserver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisNodes is a Redis Cluster of one test's own, of masters without replicas.
type RedisNodes []*RedisServer

// clusterSlots is how many hash slots a cluster has.
const clusterSlots = 16384

// RedisCluster starts a cluster of three nodes, each of which has a third of the slots,
// and returns when all of them say that it is whole.
func RedisCluster(tb testing.TB, settings ...string) RedisNodes {
	tb.Helper()
	const size = 3
	nodes := make(RedisNodes, size)
	password := randomHex(16)
	for i := range nodes {
		own := append([]string{
			"cluster-enabled=yes", fmt.Sprintf("cluster-port=%d", reservePort(tb)), "cluster-node-timeout=2000", "requirepass=" + password,
		}, settings...)
		nodes[i] = privateRedis(tb, password, own...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for i, n := range nodes {
		client := n.connect(tb)
		defer client.Close()
		if err := client.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", i*clusterSlots/size, (i+1)*clusterSlots/size-1).Err(); err != nil {
			tb.Fatalf("make a Redis Cluster: %v", err)
		}
		for _, other := range nodes[:i] {
			if err := client.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", other.node.Port, other.clusterPort()).Err(); err != nil {
				tb.Fatalf("make a Redis Cluster: %v", err)
			}
		}
	}
	for _, n := range nodes {
		client := n.connect(tb)
		defer client.Close()
		for {
			info, err := client.ClusterInfo(ctx).Result()
			if err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprint("cluster_known_nodes:", size)) {
				break
			}
			if ctx.Err() != nil {
				tb.Fatalf("a Redis Cluster is not whole: %s (%v)", info, err)
			}
			time.Sleep(pollInterval)
		}
	}
	return nodes
}

func (s *RedisServer) connect(tb testing.TB) *redis.Client {
	tb.Helper()
	o, err := redis.ParseURL(s.URL())
	if err != nil {
		tb.Fatal(err)
	}
	return redis.NewClient(o)
}

// clusterPort is where the other nodes of its cluster talk to it.
func (s *RedisServer) clusterPort() string {
	for _, setting := range s.settings {
		if port, ok := strings.CutPrefix(setting, "cluster-port="); ok {
			return port
		}
	}
	return ""
}

// Addrs are the nodes but for the first.
func (n RedisNodes) Addrs() []string {
	var out []string
	for _, node := range n[1:] {
		out = append(out, node.Addr())
	}
	return out
}
