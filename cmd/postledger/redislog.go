package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// redisLog is where go-redis writes what it does by itself, such as that it could not
// connect: to our log, and at debug level, since whoever needed the connection says
// so too.
type redisLog struct{ log *slog.Logger }

func (r redisLog) Printf(ctx context.Context, format string, args ...any) {
	if r.log.Enabled(ctx, slog.LevelDebug) {
		r.log.Debug("go-redis: " + fmt.Sprintf(format, args...))
	}
}

// logRedis sets it for the process: go-redis has one logger, for all its clients. So
// this is the program's to do, and no library's.
func logRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }
