package redishot_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/jobs"
)

// benchmarkQueue is a queue with room for every job of the benchmark.
func benchmarkQueue(b *testing.B) (jobs.Hot, *jobs.Client, *jobs.Registry, *redis.Client) {
	b.Helper()
	server := server(b)
	hot := open(b, server, "q", jobs.Limits{Jobs: b.N + 10_000, Bytes: 8 << 30})
	registry := jobs.NewRegistry()
	client, err := jobs.NewClient(hot, nil, jobs.ClientOptions{Mode: jobs.Overflow, Registry: registry})
	if err != nil {
		b.Fatal(err)
	}
	return hot, client, registry, server
}

// measure starts the clock, and tells afterwards the rate and the server's CPU time
// a job, which a busy machine changes less.
func measure(b *testing.B, server *redis.Client) (stop func()) {
	b.Helper()
	before := serverCPU(b, server)
	b.ResetTimer()
	return func() {
		b.StopTimer()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		b.ReportMetric((serverCPU(b, server)-before)*1e6/float64(b.N), "server-µs/job")
	}
}

func serverCPU(b *testing.B, server *redis.Client) float64 {
	b.Helper()
	info, err := server.Info(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	sum := 0.0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

func many300(n int) []jobs.Job {
	payload := make([]byte, 300)
	list := make([]jobs.Job, n)
	for i := range list {
		list[i] = jobs.Job{Handler: "noop", Payload: payload}
	}
	return list
}

// BenchmarkEnqueue hands over one job at a time from one goroutine.
func BenchmarkEnqueue(b *testing.B) {
	_, client, _, server := benchmarkQueue(b)
	job := many300(1)[0]
	stop := measure(b, server)
	for range b.N {
		if _, err := client.Enqueue(context.Background(), job); err != nil {
			b.Fatal(err)
		}
	}
	stop()
}

// BenchmarkEnqueueMany hands over a thousand at a time.
func BenchmarkEnqueueMany(b *testing.B) {
	_, client, _, server := benchmarkQueue(b)
	list := many300(1000)
	stop := measure(b, server)
	for left := b.N; left > 0; left -= len(list) {
		if _, err := client.EnqueueMany(context.Background(), list[:min(left, len(list))]); err != nil {
			b.Fatal(err)
		}
	}
	stop()
}

// BenchmarkProcess runs jobs that do nothing in 50 slots.
func BenchmarkProcess(b *testing.B) {
	hot, client, registry, server := benchmarkQueue(b)
	var ran atomic.Int64
	done := make(chan struct{})
	err := jobs.Handle(registry, "noop", func(context.Context, []byte) error {
		if ran.Add(1) == int64(b.N) {
			close(done)
		}
		return nil
	}, jobs.Handling{})
	if err != nil {
		b.Fatal(err)
	}
	list := many300(1000)
	for left := b.N; left > 0; left -= len(list) {
		if _, err := client.EnqueueMany(context.Background(), list[:min(left, len(list))]); err != nil {
			b.Fatal(err)
		}
	}
	worker, err := jobs.NewWorker(hot, nil, registry, jobs.WorkerOptions{Slots: 50, StopPatience: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stop := measure(b, server)
	stopped := make(chan error, 1)
	go func() { stopped <- worker.Run(ctx) }()
	<-done
	cancel()
	if err := <-stopped; err != nil {
		b.Fatal(err)
	}
	stop()
}
