package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the database/sql driver "pgx"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/postledger/postledger/internal/bench/cost"
)

// What River's own benchmark works with: its defaults fetch a hundred jobs each
// tenth of a second.
const (
	riverWorkers  = 2000
	riverCooldown = 2 * time.Millisecond
	riverPoll     = 20 * time.Millisecond
)

type noop struct {
	Payload string `json:"payload"`
}

func (noop) Kind() string { return "noop" }

type noopWorker struct {
	river.WorkerDefaults[noop]
	ran  *atomic.Int64
	want int64
	done chan struct{}
}

func (w *noopWorker) Work(context.Context, *river.Job[noop]) error {
	if w.ran.Add(1) == w.want {
		close(w.done)
	}
	return nil
}

type riverWorld struct {
	pool   *pgxpool.Pool
	meter  *sql.DB // its backend is not counted
	client *river.Client[pgx.Tx]
	worker *noopWorker
}

func openRiver(ctx context.Context, o order) (*riverWorld, error) {
	meter, err := sql.Open("pgx", o.URL)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	pool, err := pgxpool.New(ctx, o.URL)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	w := &riverWorld{pool: pool, meter: meter, worker: &noopWorker{ran: &atomic.Int64{}, want: int64(o.N), done: make(chan struct{})}}
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("migrate: %w", err)
	}
	if _, err := pool.Exec(ctx, "TRUNCATE river_job"); err != nil {
		pool.Close()
		return nil, fmt.Errorf("empty the table: %w", err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, w.worker)
	w.client, err = river.NewClient(driver, &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
		FetchCooldown:     riverCooldown,
		FetchPollInterval: riverPoll,
		Workers:           workers,
		Logger:            slog.New(slog.DiscardHandler),
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return w, nil
}

func (w *riverWorld) close() {
	w.pool.Close()
	w.meter.Close()
}

// insert hands over a thousand at a time, the fastest way that River has (COPY).
func (w *riverWorld) insert(ctx context.Context, n int) error {
	params := make([]river.InsertManyParams, cost.Many)
	for i := range params {
		params[i].Args = noop{Payload: strings.Repeat("p", cost.Payload)}
	}
	for left := n; left > 0; left -= len(params) {
		if _, err := w.client.InsertManyFast(ctx, params[:min(left, len(params))]); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
	}
	return nil
}

func riverInsert(o order) (used cost.Used, err error) {
	ctx := context.Background()
	w, err := openRiver(ctx, o)
	if err != nil {
		return used, err
	}
	defer w.close()
	if err := w.insert(ctx, o.N/10); err != nil {
		return used, err
	}
	m, err := cost.Start(cost.Postgres(w.meter))
	if err != nil {
		return used, err
	}
	if err := w.insert(ctx, o.N); err != nil {
		return used, err
	}
	return m.Stop()
}

// riverWork runs jobs that do nothing, until the last is marked as completed.
func riverWork(o order) (used cost.Used, err error) {
	ctx := context.Background()
	w, err := openRiver(ctx, o)
	if err != nil {
		return used, err
	}
	defer w.close()
	if err := w.insert(ctx, o.N); err != nil {
		return used, err
	}
	if _, err := w.pool.Exec(ctx, "VACUUM (ANALYZE) river_job"); err != nil {
		return used, fmt.Errorf("analyze: %w", err)
	}
	m, err := cost.Start(cost.Postgres(w.meter))
	if err != nil {
		return used, err
	}
	if err := w.client.Start(ctx); err != nil {
		return used, fmt.Errorf("start: %w", err)
	}
	<-w.worker.done
	if err := w.client.Stop(ctx); err != nil {
		return used, fmt.Errorf("stop: %w", err)
	}
	return m.Stop()
}
