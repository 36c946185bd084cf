package jobs_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// until polls what becomes true by itself.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("still not so after %v: %s", patience, what)
		}
	}
}

func TestRowsFollowTheirJobs(t *testing.T) {
	t.Parallel()
	outbox, _ := box(t)
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	fault := errors.New("no luck")
	handle(t, r, "h", jobs.Handling{MaxAttempts: 2, Backoff: at(time.Hour)}, func(_ context.Context, payload []byte) error {
		seen.add("%s", payload)
		switch string(payload) {
		case "good":
			return nil
		case "final":
			return jobs.GiveUp(fault)
		default:
			return fault
		}
	})
	client := clientOf(t, hot, outbox, jobs.ClientOptions{Registry: r})
	ids := enqueue(t, client, named("good", "later", "final")...)
	stop := work(t, hot, outbox, r, jobs.WorkerOptions{})
	seen.await(t, 3)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	wantRows(t, outbox, "later buffered", "final quarantined")
	holds(t, hot, 0)
	later, err := outbox.Get(context.Background(), ids[1])
	if err != nil || later.Attempts != 1 || later.Reason != "no luck" || time.Until(later.RunAt) < 50*time.Minute {
		t.Fatalf("the row for later is %+v, %v", later, err)
	}
	final, err := outbox.Get(context.Background(), ids[2])
	if err != nil || final.Attempts != 1 || final.Reason != "no luck" {
		t.Fatalf("the row set aside is %+v, %v", final, err)
	}
}

// In mode Overflow a job has no row until it needs one.
func TestJobsWithoutRowsGetOneWhenTheyFail(t *testing.T) {
	t.Parallel()
	outbox, _ := box(t)
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	handle(t, r, "h", jobs.Handling{MaxAttempts: 2, Backoff: at(time.Hour)}, func(_ context.Context, payload []byte) error {
		seen.add("%s", payload)
		if string(payload) == "final" {
			return jobs.GiveUp(errors.New("no"))
		}
		return errors.New("later")
	})
	client := clientOf(t, hot, outbox, jobs.ClientOptions{Mode: jobs.Overflow, Registry: r})
	enqueue(t, client, named("later", "final")...)
	stop := work(t, hot, outbox, r, jobs.WorkerOptions{})
	seen.await(t, 2)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	got := rows(t, outbox)
	slices.Sort(got)
	if want := []string{"final quarantined", "later buffered"}; !slices.Equal(got, want) {
		t.Fatalf("the outbox has %q, want %q", got, want)
	}
	holds(t, hot, 0)
}

func TestSingletonsRunOneAtATime(t *testing.T) {
	t.Parallel()
	outbox, _ := box(t)
	hot, r := memory(t, jobs.Limits{}), jobs.NewRegistry()
	var now, most, ran atomic.Int32
	entered, release := make(chan struct{}, 10), make(chan struct{})
	handle(t, r, "one", jobs.Handling{Shape: jobs.Singleton}, func(context.Context, []byte) error {
		most.Store(max(most.Load(), now.Add(1)))
		entered <- struct{}{}
		<-release
		now.Add(-1)
		ran.Add(1)
		return nil
	})
	handle(t, r, "other", jobs.Handling{}, func(context.Context, []byte) error { entered <- struct{}{}; return nil })
	client := clientOf(t, hot, outbox, jobs.ClientOptions{Registry: r})
	enqueue(t, client, jobs.Job{Handler: "one"}, jobs.Job{Handler: "one"})
	work(t, hot, outbox, r, jobs.WorkerOptions{})
	work(t, hot, outbox, r, jobs.WorkerOptions{})
	<-entered
	// The second is postponed, without a charge, and others are not held up.
	until(t, "the second is delayed", func() bool {
		d, err := hot.Depth(context.Background())
		return err == nil && d.Delayed == 1
	})
	enqueue(t, client, jobs.Job{Handler: "other"})
	<-entered
	close(release)
	until(t, "both have run", func() bool { return ran.Load() == 2 })
	if most.Load() != 1 {
		t.Fatalf("%d ran at a time", most.Load())
	}
}

// stuck is an outbox that cannot be written for a while.
type stuck struct {
	jobs.Outbox
	broken atomic.Bool
	tried  chan struct{}
}

func (s *stuck) Remove(ctx context.Context, refs []jobs.Ref) (int, error) {
	if s.broken.Load() {
		select {
		case s.tried <- struct{}{}:
		default:
		}
		return 0, errCut
	}
	return s.Outbox.Remove(ctx, refs)
}

func TestEndsAreWrittenWhenTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	inner, _ := box(t)
	outbox := &stuck{Outbox: inner, tried: make(chan struct{}, 1)}
	outbox.broken.Store(true)
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	handle(t, r, "h", jobs.Handling{}, func(context.Context, []byte) error { seen.add("ran"); return nil })
	client := clientOf(t, hot, outbox, jobs.ClientOptions{Registry: r})
	enqueue(t, client, named("a")...)
	// The lease is shorter than the trouble: the beat keeps it.
	stop := work(t, hot, outbox, r, jobs.WorkerOptions{Lease: 500 * time.Millisecond})
	for range 6 { // 20 ms, and after each twice as long
		<-outbox.tried
	}
	outbox.broken.Store(false)
	until(t, "the row is gone", func() bool { return len(rows(t, outbox)) == 0 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := seen.all(); len(got) != 1 {
		t.Fatalf("it ran %d times", len(got))
	}
	holds(t, hot, 0)
}

func TestStopSaysWhatCouldNotBeWritten(t *testing.T) {
	t.Parallel()
	inner, _ := box(t)
	outbox := &stuck{Outbox: inner, tried: make(chan struct{}, 1)}
	outbox.broken.Store(true)
	hot, r := memory(t, jobs.Limits{}), jobs.NewRegistry()
	handle(t, r, "h", jobs.Handling{}, func(context.Context, []byte) error { return nil })
	client := clientOf(t, hot, outbox, jobs.ClientOptions{Registry: r})
	enqueue(t, client, named("a")...)
	stop := work(t, hot, outbox, r, jobs.WorkerOptions{FlushPatience: 50 * time.Millisecond})
	<-outbox.tried
	if err := stop(); err == nil {
		t.Fatal("stopped without an error, and the end of a job was not written")
	}
	wantRows(t, inner, "a admitted")
	holds(t, hot, 1)
}
