package redishot_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// benchmarkQueue is a queue with room for every job of the benchmark.
func benchmarkQueue(b *testing.B, mode jobs.Mode) (jobs.Hot, *jobs.Client, *jobs.Registry) {
	b.Helper()
	hot := open(b, server(b), "q", jobs.Limits{Jobs: b.N + 10_000, Bytes: 8 << 30})
	registry := jobs.NewRegistry()
	client, err := jobs.NewClient(hot, nil, jobs.ClientOptions{Mode: mode, Registry: registry})
	if err != nil {
		b.Fatal(err)
	}
	return hot, client, registry
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
	_, client, _ := benchmarkQueue(b, jobs.Overflow)
	job := many300(1)[0]
	b.ResetTimer()
	for range b.N {
		if _, err := client.Enqueue(context.Background(), job); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkEnqueueMany hands over a thousand at a time.
func BenchmarkEnqueueMany(b *testing.B) {
	_, client, _ := benchmarkQueue(b, jobs.Overflow)
	list := many300(1000)
	b.ResetTimer()
	for left := b.N; left > 0; left -= len(list) {
		if _, err := client.EnqueueMany(context.Background(), list[:min(left, len(list))]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkProcess runs jobs that do nothing in 50 slots.
func BenchmarkProcess(b *testing.B) {
	hot, client, registry := benchmarkQueue(b, jobs.Overflow)
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
	ctx, stop := context.WithCancel(context.Background())
	b.ResetTimer()
	stopped := make(chan error, 1)
	go func() { stopped <- worker.Run(ctx) }()
	<-done
	stop()
	if err := <-stopped; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
