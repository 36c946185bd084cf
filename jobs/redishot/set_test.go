package redishot_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/hottest"
	"github.com/postledger/postledger/jobs/redishot"
)

// connect gives a client for the length of the test.
func connect(tb testing.TB, url string) *redis.Client {
	tb.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	client := redis.NewClient(options)
	tb.Cleanup(func() {
		if err := client.Close(); err != nil {
			tb.Errorf("close the client: %v", err)
		}
	})
	return client
}

func open(tb testing.TB, client *redis.Client, name string, limits jobs.Limits) *redishot.Set {
	tb.Helper()
	set, err := redishot.New(client, name, limits)
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

func TestRedis(t *testing.T) {
	t.Parallel()
	hottest.Run(t, func(tb testing.TB, limits jobs.Limits) func() jobs.Hot {
		url, prefix := testserver.Redis(tb)
		return func() jobs.Hot { return open(tb, connect(tb, url), prefix, limits) }
	})
}

func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "a{b", "a}b", "a\nb"} {
		if _, err := redishot.New(redis.NewClient(&redis.Options{}), name, jobs.Limits{}); err == nil {
			t.Errorf("took the name %q", name)
		}
	}
	if _, err := redishot.New(redis.NewClient(&redis.Options{}), "a", jobs.Limits{Jobs: 1}); err == nil {
		t.Error("took a limit of one job")
	}
}
