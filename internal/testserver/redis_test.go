package testserver_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/testserver"
)

func TestRedisGivesEachTestItsOwnKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url, kept := testserver.Redis(t)
	client := redisClient(t, url)
	if err := client.Set(ctx, kept, "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	var gone string
	t.Run("user", func(t *testing.T) {
		again, prefix := testserver.Redis(t)
		if again != url || prefix == kept {
			t.Fatalf("got %s and %s, want the same server and another prefix", again, prefix)
		}
		gone = "{" + prefix + "}:ready"
		if err := client.Set(ctx, gone, "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
	})
	if n := client.Exists(ctx, gone).Val(); n != 0 {
		t.Error("a test's key outlived it")
	}
	if n := client.Exists(ctx, kept).Val(); n != 1 {
		t.Error("the end of one test took the keys of another")
	}
}

func TestRedisRefusesWhoHasNoPassword(t *testing.T) {
	t.Parallel()
	url, _ := testserver.Redis(t)
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	err = redisClient(t, "redis://"+options.Addr+"/0").Ping(context.Background()).Err()
	if err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("got %v, want NOAUTH", err)
	}
}

func TestPrivateRedisStopsStartsAndFreezes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := testserver.PrivateRedis(t, "maxmemory=50mb")
	client := redisClient(t, server.URL())
	if got := client.ConfigGet(ctx, "maxmemory").Val()["maxmemory"]; got != "52428800" {
		t.Errorf("maxmemory is %q, want the setting that was given", got)
	}
	for name, restart := range map[string]func(){"killed": server.Kill, "stopped": server.Stop} {
		if err := client.Set(ctx, name, "kept", 0).Err(); err != nil {
			t.Fatal(err)
		}
		restart()
		if err := client.Ping(ctx).Err(); err == nil {
			t.Errorf("a server that was %s answered", name)
		}
		server.Start()
		if got := client.Get(ctx, name).Val(); got != "kept" {
			t.Errorf("a server that was %s came back with %q, want what was answered", name, got)
		}
	}

	server.Pause()
	frozen, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if err := client.Ping(frozen).Err(); err == nil {
		t.Error("a frozen server answered")
	}
	server.Resume()
	if err := client.Ping(ctx).Err(); err != nil {
		t.Errorf("after the freeze: %v", err)
	}

	server.Kill()
	server.Wipe()
	server.Start()
	if n := client.DBSize(ctx).Val(); n != 0 {
		t.Errorf("%d keys after the data was removed", n)
	}
}

func TestRedisOnAServerThatIsGiven(t *testing.T) {
	given := testserver.PrivateRedis(t)
	t.Setenv("POSTLEDGER_TEST_REDIS_URL", given.URL())
	if url, _ := testserver.Redis(t); url != given.URL() {
		t.Errorf("got %s, want the server that was given", url)
	}
}

// A run that was killed may leave a server without a watcher; the next run must
// end it.
func TestRedisWithoutItsWatcherIsReplaced(t *testing.T) {
	dir := filepath.Join(sharedServerDir(t), "redis")
	t.Run("a run that is killed", func(t *testing.T) { testserver.Redis(t) })
	killWatcher(t, dir)
	left := readPID(t, filepath.Join(dir, "shared-*", "*.pid"))
	t.Run("the next run", func(t *testing.T) { testserver.Redis(t) })
	// One that ended and was not yet reaped has no command line.
	command, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(left), "cmdline"))
	if len(command) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the server that lost its watcher runs on: %q, %v", command, err)
	}
	stopWatcher(t, dir)
}

func readPID(t *testing.T, pattern string) int {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("files with a process id: %q, %v", found, err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func redisClient(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries, options.DialerRetries = -1, 1 // a server that is down is to be seen
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}
