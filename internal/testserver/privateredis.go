package testserver

import (
	"os"
	"os/exec"
	"testing"
)

// RedisServer is a Redis server of one test's own, to be stopped, killed and
// frozen.
type RedisServer struct {
	daemon
	node     redisNode
	settings []string
}

// PrivateRedis starts a Redis server that belongs to this test. It writes every
// command to its append-only file before it answers, so its data outlives
// [RedisServer.Kill] unless [RedisServer.Wipe] is called. Settings are given as
// "name=value". When no server program is installed because
// POSTLEDGER_TEST_REDIS_URL names another server, the test is skipped.
func PrivateRedis(tb testing.TB, settings ...string) *RedisServer {
	tb.Helper()
	return privateRedis(tb, "", settings...)
}

// privateRedis has a password of its own when none is given.
func privateRedis(tb testing.TB, password string, settings ...string) *RedisServer {
	tb.Helper()
	if _, ok := findRedis(tb); !ok && os.Getenv(redisURLVariable) != "" {
		tb.Skip("POSTLEDGER_TEST_REDIS_URL is set and no Redis is installed: this test must stop a server of its own")
	}
	path := needRedis(tb)
	dir, owner := kindDir(tb, "redis"), postgresUser(tb)
	useSharedDir(tb, dir)
	node, err := newRedisNode(owner, dir, "private-"+randomHex(6), reservePort(tb))
	if err != nil {
		tb.Fatalf("create a private Redis server: %v", err)
	}
	if password != "" {
		node.Password = password
	}
	settings = append([]string{"appendonly=yes", "appendfsync=everysec"}, settings...)
	s := &RedisServer{node: node, settings: settings}
	s.daemon = newDaemon(tb, "Redis", node.Port,
		func() *exec.Cmd { return owner.command(dir, path, node.args(settings...)...) },
		node.ready)
	tb.Cleanup(func() {
		s.close()
		if err := removeAll(node.Data, node.config()); err != nil {
			tb.Errorf("remove the private server's data: %v", err)
		}
	})
	s.Start()
	return s
}

// URL is the server's database 0. It stays the same over restarts.
func (s *RedisServer) URL() string { return s.node.url() }

// Wipe removes all data of a stopped server, which then starts empty, as one
// does that keeps nothing on disk.
func (s *RedisServer) Wipe() {
	s.tb.Helper()
	if s.server != nil {
		s.tb.Fatal("wipe Redis: it runs")
	}
	if err := emptyDir(s.node.Data); err != nil {
		s.tb.Fatalf("wipe Redis: %v", err)
	}
}
