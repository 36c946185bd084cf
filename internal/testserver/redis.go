package testserver

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
)

const redisURLVariable = "POSTLEDGER_TEST_REDIS_URL"

// Redis returns the URL of a Redis or Valkey server and a prefix for this
// test's keys. Keys that hold the prefix anywhere in their name, such as
// "{prefix}:ready", are deleted when the test has ended. The prefix is made of
// letters, digits and an underscore.
//
// It is the server of POSTLEDGER_TEST_REDIS_URL if that is set, else one that
// all tests of this checkout share, which keeps nothing on disk. Other tests
// use it at the same time: what a test says about the server as a whole (its
// memory, FLUSHALL) needs a [PrivateRedis].
func Redis(tb testing.TB) (url, prefix string) {
	tb.Helper()
	url, prefix = os.Getenv(redisURLVariable), "test_"+randomHex(8)
	if url == "" {
		url = sharedRedis(tb).url()
	}
	tb.Cleanup(func() {
		if err := deleteKeys(url, "*"+prefix+"*"); err != nil {
			tb.Errorf("delete the test's keys: %v", err)
		}
	})
	return url, prefix
}

func deleteKeys(url, pattern string) error {
	options, err := redis.ParseURL(url)
	if err != nil {
		return fmt.Errorf("parse the server's URL: %w", err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	const page = 1000
	keys := client.Scan(ctx, 0, pattern, page).Iterator()
	for keys.Next(ctx) {
		if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return fmt.Errorf("delete a key: %w", err)
		}
	}
	return keys.Err()
}
