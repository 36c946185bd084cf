package doctor_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/app/doctor"
	"github.com/postledger/postledger/internal/testserver"
)

// The server of the job queue: one that keeps all, one that may drop, one that is
// gone, a cluster, and what nobody listens for.
func TestRedisOfTheJobQueue(t *testing.T) {
	t.Parallel()
	w := newWard(t, "")
	examine := func() []doctor.Finding { return doctor.Examine(t.Context(), &w.config, doctor.Options{}) }
	for _, f := range examine() {
		if len(f.What) > 5 && f.What[:5] == "Redis" {
			t.Errorf("jobs are in memory, and it says %+v", f)
		}
	}
	server := testserver.PrivateRedis(t)
	w.config.Jobs.Driver = config.RedisDriver
	use := func(url string) string {
		if err := w.config.Jobs.Redis.UnmarshalText([]byte(url)); err != nil {
			t.Fatal(err)
		}
		return "Redis " + w.config.Jobs.Redis.String()
	}
	what := use(server.URL())
	finds(t, examine(), "ok", what, "answers")
	o, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	defer client.Close()
	if err := client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	finds(t, examine(), "ok", what, "answers")
	finds(t, examine(), "warning", what+", when it is full", "allkeys-lru", "noeviction")
	server.Kill()
	finds(t, examine(), "fault", what, "refused")

	nodes := testserver.RedisCluster(t)
	what = use(nodes[0].URL())
	w.config.Jobs.RedisCluster, w.config.Jobs.RedisAddrs = true, nodes.Addrs()
	finds(t, examine(), "ok", what, "answers")
}
