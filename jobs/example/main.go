// Command example runs a small job queue: a hot set of 200 jobs in memory, an
// outbox in an SQLite file, and five times as many jobs as the set holds.
//
//	go run ./jobs/example
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/memhot"
	"github.com/postledger/postledger/jobs/sqlitebox"
)

// Thumbnail is a job's payload.
type Thumbnail struct {
	Image string `json:"image"`
	Width int    `json:"width"`
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "jobs-example-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "jobs.db")+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	defer db.Close()
	if err := sqlitebox.Migrate(ctx, db); err != nil {
		return fmt.Errorf("create the tables: %w", err)
	}
	outbox := sqlitebox.New(db)
	hot, err := memhot.New(jobs.Limits{Jobs: 200})
	if err != nil {
		return fmt.Errorf("make the hot set: %w", err)
	}

	// What to do, by name.
	const many = 1000
	var made, retried atomic.Int64
	done := make(chan struct{})
	registry := jobs.NewRegistry()
	thumbnails := jobs.Handling{Backoff: func(int) time.Duration { return 10 * time.Millisecond }}
	err = jobs.Handle(registry, "thumbnail", func(ctx context.Context, t Thumbnail) error {
		if run, _ := jobs.RunOf(ctx); t.Width%100 == 0 && run.Attempt == 1 {
			retried.Add(1)
			return errors.New("the image store does not answer")
		}
		if made.Add(1) == many {
			close(done)
		}
		return nil
	}, thumbnails)
	if err != nil {
		return err
	}

	// Who works: one drain and one worker here; in production any number of
	// processes, of which one drains at a time.
	quiet := slog.New(slog.DiscardHandler)
	drain := jobs.NewDrain(hot, outbox, jobs.DrainConfig{Owner: "example", Log: quiet})
	worker, err := jobs.NewWorker(hot, outbox, registry, jobs.WorkerOptions{Slots: 20, Log: quiet})
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	stopped := make(chan error, 1)
	running.Go(func() { drain.Run(working) })
	running.Go(func() { stopped <- worker.Run(working) })

	// Who hands over: a job that was accepted is in the hot set, or its row is
	// committed. Here it is always a row first.
	client, err := jobs.NewClient(hot, outbox, jobs.ClientOptions{Registry: registry, Wake: drain.Wake})
	if err != nil {
		return err
	}
	list := make([]jobs.Job, many)
	for i := range list {
		if list[i], err = jobs.New("thumbnail", Thumbnail{Image: fmt.Sprintf("cat-%d.png", i), Width: i}); err != nil {
			return err
		}
	}
	began := time.Now()
	if _, err := client.EnqueueMany(ctx, list); err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	depth, err := hot.Depth(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d jobs accepted in %v: the hot set holds %d, the rest are rows\n", many, time.Since(began).Round(time.Millisecond), depth.Jobs)

	<-done
	fmt.Printf("%d thumbnails after %v, %d of them in a second try\n", made.Load(), time.Since(began).Round(time.Millisecond), retried.Load())
	stop()
	running.Wait()
	return errors.Join(<-stopped, client.Close(ctx))
}
