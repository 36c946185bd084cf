package doctor

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/app/queue"
)

const redisTimeout = 10 * time.Second

// redis asks the server that the job queue works from. It writes nothing there.
func (x *examination) redis(ctx context.Context) {
	if x.config.Jobs.Driver != config.RedisDriver {
		return
	}
	what := "Redis " + x.config.Jobs.Redis.String()
	o, err := x.config.Jobs.RedisOptions()
	if err != nil {
		x.bad(what, "%v", err)
		return
	}
	o.ContextTimeoutEnabled = true
	client := redis.NewUniversalClient(o)
	defer client.Close() // nothing was written
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	policy, err := queue.EvictionPolicy(ctx, client)
	if err != nil {
		x.bad(what, "%v", err)
		return
	}
	x.good(what, "answers")
	if policy != queue.KeepsAll {
		x.warn(what+", when it is full", "maxmemory-policy is %s, and it may drop jobs, which then wait until they are found missing: set it to %s", policy, queue.KeepsAll)
	}
}
