package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/bench/cost"
)

// slots is how many handlers run at a time, as in our own part.
const slots = 50

// asynqWorld is asynq on an empty Redis.
type asynqWorld struct {
	at      asynq.RedisConnOpt
	client  *asynq.Client
	server  *redis.Client
	payload []byte
}

func openAsynq(o order) (*asynqWorld, error) {
	at, err := asynq.ParseRedisURI(o.Redis)
	if err != nil {
		return nil, fmt.Errorf("read the Redis URL: %w", err)
	}
	options, err := redis.ParseURL(o.Redis)
	if err != nil {
		return nil, fmt.Errorf("read the Redis URL: %w", err)
	}
	server := redis.NewClient(options)
	if err := server.FlushAll(context.Background()).Err(); err != nil {
		return nil, fmt.Errorf("empty Redis: %w", err)
	}
	return &asynqWorld{at: at, client: asynq.NewClient(at), server: server, payload: make([]byte, cost.Payload)}, nil
}

func (w *asynqWorld) close() {
	w.client.Close()
	w.server.Close()
}

func (w *asynqWorld) enqueue(n int) error {
	for range n {
		if _, err := w.client.Enqueue(asynq.NewTask("noop", w.payload)); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
	}
	return nil
}

// asynqEnqueue hands over one task at a time from one goroutine: no release has a
// way to hand over many.
func asynqEnqueue(o order) (used cost.Used, err error) {
	w, err := openAsynq(o)
	if err != nil {
		return used, err
	}
	defer w.close()
	if err := w.enqueue(o.N / 10); err != nil {
		return used, err
	}
	m, err := cost.Start(cost.Redis(w.server))
	if err != nil {
		return used, err
	}
	if err := w.enqueue(o.N); err != nil {
		return used, err
	}
	return m.Stop()
}

// asynqProcess runs tasks that do nothing. Those that are still being acknowledged
// when the last has run are not waited for.
func asynqProcess(o order) (used cost.Used, err error) {
	w, err := openAsynq(o)
	if err != nil {
		return used, err
	}
	defer w.close()
	if err := w.enqueue(o.N); err != nil {
		return used, err
	}
	server := asynq.NewServer(w.at, asynq.Config{Concurrency: slots, LogLevel: asynq.FatalLevel})
	var ran atomic.Int64
	done := make(chan struct{})
	m, err := cost.Start(cost.Redis(w.server))
	if err != nil {
		return used, err
	}
	err = server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		if ran.Add(1) == int64(o.N) {
			close(done)
		}
		return nil
	}))
	if err != nil {
		return used, fmt.Errorf("start: %w", err)
	}
	<-done
	used, err = m.Stop()
	server.Shutdown()
	return used, err
}
