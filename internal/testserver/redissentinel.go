package testserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// WatchedRedis is a Redis server of one test's own with a replica, and the Sentinels that
// make the replica the server when it is gone.
type WatchedRedis struct {
	// Server is the one at the beginning, Replica what follows it.
	Server, Replica *RedisServer
	// Sentinels are their addresses, SentinelPassword logs in to them.
	Sentinels        []string
	SentinelPassword string

	tb testing.TB
}

// WatchedName is the name by which Sentinels know the server.
const WatchedName = "jobs"

// RedisWithSentinels starts a server, a replica and three Sentinels of which two have to
// agree, and returns when all of them know each other. A server that does not answer for
// a second and a half is taken for gone.
func RedisWithSentinels(tb testing.TB, settings ...string) *WatchedRedis {
	tb.Helper()
	const sentinels = 3
	password := randomHex(16)
	settings = append([]string{"requirepass=" + password, "masterauth=" + password, "repl-diskless-sync-delay=0"}, settings...)
	w := &WatchedRedis{
		Server: privateRedis(tb, password, settings...), Replica: privateRedis(tb, password, settings...),
		SentinelPassword: randomHex(16), tb: tb,
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	replica := w.Replica.connect(tb)
	defer replica.Close()
	if err := replica.Do(ctx, "REPLICAOF", "127.0.0.1", w.Server.port).Err(); err != nil {
		tb.Fatalf("make a Redis replica: %v", err)
	}
	// A Sentinel that asks before the replica follows asks again after ten seconds.
	w.await(ctx, "the replica follows", func() (bool, error) {
		info, err := replica.Info(ctx, "replication").Result()
		return strings.Contains(info, "master_link_status:up"), err
	})
	for range sentinels {
		w.Sentinels = append(w.Sentinels, w.sentinel(password))
	}
	for _, addr := range w.Sentinels {
		client := w.sentinelClient(addr)
		defer client.Close()
		w.await(ctx, "a Sentinel knows all", func() (bool, error) {
			server, err := client.Master(ctx, WatchedName).Result()
			return server["num-slaves"] == "1" && server["num-other-sentinels"] == fmt.Sprint(sentinels-1) && server["flags"] == "master", err
		})
	}
	return w
}

// AwaitFailover returns when all Sentinels lead to what was the replica.
func (w *WatchedRedis) AwaitFailover() {
	w.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for _, addr := range w.Sentinels {
		client := w.sentinelClient(addr)
		defer client.Close()
		w.await(ctx, "the replica is the server", func() (bool, error) {
			at, err := client.GetMasterAddrByName(ctx, WatchedName).Result()
			return len(at) == 2 && at[1] == fmt.Sprint(w.Replica.port), err
		})
	}
}

// sentinel starts one. It writes what it learns into its configuration.
func (w *WatchedRedis) sentinel(password string) (addr string) {
	w.tb.Helper()
	path, dir, owner := needRedis(w.tb), kindDir(w.tb, "redis"), postgresUser(w.tb)
	node, err := newRedisNode(owner, dir, "private-"+randomHex(6), reservePort(w.tb))
	if err != nil {
		w.tb.Fatalf("create a Sentinel: %v", err)
	}
	node.Password = w.SentinelPassword
	config := filepath.Join(node.Data, "sentinel.conf")
	text := fmt.Sprintf(`bind 127.0.0.1
port %[1]d
dir %[2]s
pidfile %[3]s
set-proc-title no
requirepass %[4]s
sentinel monitor %[5]s 127.0.0.1 %[6]d 2
sentinel auth-pass %[5]s %[7]s
sentinel down-after-milliseconds %[5]s 1500
sentinel failover-timeout %[5]s 6000
`, node.Port, node.Data, node.pidFile(), node.Password, WatchedName, w.Server.port, password)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		w.tb.Fatalf("configure a Sentinel: %v", err)
	}
	if err := owner.own(config); err != nil {
		w.tb.Fatalf("configure a Sentinel: %v", err)
	}
	d := newDaemon(w.tb, "Sentinel", node.Port,
		func() *exec.Cmd { return owner.command(dir, path, config, "--sentinel") }, node.ready)
	w.tb.Cleanup(func() {
		d.close()
		if err := removeAll(node.Data, node.config()); err != nil {
			w.tb.Errorf("remove a Sentinel's data: %v", err)
		}
	})
	d.Start()
	return d.Addr()
}

func (w *WatchedRedis) sentinelClient(addr string) *redis.SentinelClient {
	return redis.NewSentinelClient(&redis.Options{Addr: addr, Password: w.SentinelPassword})
}

func (w *WatchedRedis) await(ctx context.Context, what string, done func() (bool, error)) {
	w.tb.Helper()
	for {
		ok, err := done()
		if ok && err == nil {
			return
		}
		if ctx.Err() != nil {
			w.tb.Fatalf("Redis with Sentinels: %s: not within %v (%v)", what, startTimeout, err)
		}
		time.Sleep(pollInterval)
	}
}
