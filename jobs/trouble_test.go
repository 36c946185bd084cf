package jobs_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/memhot"
)

// gone is a hot set that cannot be reached while it is down.
type gone struct {
	jobs.Hot
	down atomic.Bool
}

func (g *gone) Take(ctx context.Context, take jobs.Take) ([]*jobs.Held, error) {
	if g.down.Load() {
		return nil, jobs.ErrUnavailable
	}
	return g.Hot.Take(ctx, take)
}

// A set that is gone is warned of when it goes and each minute, and it is said when it
// is back.
func TestAnOutageIsWarnedOfOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set, err := memhot.New(jobs.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		hot := &gone{Hot: set}
		var said bytes.Buffer // read while the worker sleeps
		worker, err := jobs.NewWorker(hot, nil, jobs.NewRegistry(), jobs.WorkerOptions{Log: slog.New(slog.NewTextHandler(&said, nil))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- worker.Run(ctx) }()
		for _, outage := range []struct {
			lasts    time.Duration
			warnings int
		}{{10 * time.Second, 1}, {210 * time.Second, 4}} {
			said.Reset()
			hot.down.Store(true)
			<-time.After(outage.lasts)
			hot.down.Store(false)
			<-time.After(5 * time.Second)
			synctest.Wait()
			if n := strings.Count(said.String(), "level=WARN"); n != outage.warnings {
				t.Errorf("an outage of %s: %d warnings, want %d: %s", outage.lasts, n, outage.warnings, said.String())
			}
			if n := strings.Count(said.String(), "works again"); n != 1 {
				t.Errorf("said %d times that it works again: %s", n, said.String())
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
