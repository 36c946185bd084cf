package testserver

import (
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// oldestRedis is the oldest major version that Postledger supports. Valkey
// began at 7.2.
const oldestRedis = 7

// findRedis is the program of a Redis server, or of Valkey.
func findRedis(tb testing.TB) (path string, ok bool) {
	tb.Helper()
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, ok := findProgram(tb, name); ok && redisVersion(path) >= oldestRedis {
			return path, true
		}
	}
	return "", false
}

func redisVersion(path string) int {
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return 0
	}
	var version int
	if match := regexp.MustCompile(`v=(\d+)`).FindSubmatch(out); match != nil {
		version, _ = strconv.Atoi(string(match[1])) // digits
	}
	return version
}

func needRedis(tb testing.TB) string {
	tb.Helper()
	path, ok := findRedis(tb)
	if !ok {
		tb.Fatalf("Redis %d or newer, or Valkey, is not installed (program redis-server or valkey-server): run `make deps`, or set %s", oldestRedis, redisURLVariable)
	}
	return path
}

// sharedRedis is the Redis server of all tests of this checkout.
func sharedRedis(tb testing.TB) redisNode {
	tb.Helper()
	path := needRedis(tb)
	dir, owner := kindDir(tb, "redis"), postgresUser(tb)
	return sharing[redisNode]{
		name:  "Redis",
		dir:   dir,
		owner: owner,
		create: func(name string, port int) (redisNode, error) {
			return newRedisNode(owner, dir, name, port)
		},
		command: func(n redisNode) []string { return append([]string{path}, n.args()...) },
		ask:     "TERM",
		ready:   redisNode.ready,
		answers: redisNode.answers,
		prepare: func(redisNode) error { return nil },
		end:     func(data string) { endByPIDFile(redisNode{Data: data}.pidFile(), data) },
	}.use(tb)
}
