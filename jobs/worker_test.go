package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/memhot"
)

// patience bounds what a test waits for.
const patience = 20 * time.Second

// log collects what handlers did.
type log struct {
	mu    sync.Mutex
	lines []string
	grew  chan struct{}
}

func newLog() *log { return &log{grew: make(chan struct{}, 1)} }

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
	l.mu.Unlock()
	select {
	case l.grew <- struct{}{}:
	default:
	}
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// await waits for n lines.
func (l *log) await(t *testing.T, n int) []string {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		if lines := l.all(); len(lines) >= n {
			return lines
		}
		select {
		case <-l.grew:
		case <-timer.C:
			t.Fatalf("%d lines after %v, want %d: %v", len(l.all()), patience, n, l.all())
		}
	}
}

func memory(t *testing.T, limits jobs.Limits) *memhot.Set {
	t.Helper()
	set, err := memhot.New(limits)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func handle[T any](t *testing.T, r *jobs.Registry, name string, how jobs.Handling, run func(context.Context, T) error) {
	t.Helper()
	if err := jobs.Handle(r, name, run, how); err != nil {
		t.Fatal(err)
	}
}

// direct is a client that needs no outbox.
func direct(t *testing.T, hot jobs.Hot, r *jobs.Registry) *jobs.Client {
	t.Helper()
	client, err := jobs.NewClient(hot, nil, jobs.ClientOptions{Mode: jobs.Overflow, Registry: r})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func enqueue(t *testing.T, client *jobs.Client, list ...jobs.Job) []jobs.ID {
	t.Helper()
	ids, err := client.EnqueueMany(context.Background(), list)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// work runs a worker until the test ends, or until stop is called, which gives
// Run's error.
func work(t *testing.T, hot jobs.Hot, outbox jobs.Outbox, r *jobs.Registry, o jobs.WorkerOptions) (stop func() error) {
	t.Helper()
	worker, err := jobs.NewWorker(hot, outbox, r, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	return stop
}

func holds(t *testing.T, hot jobs.Hot, want int) {
	t.Helper()
	d, err := hot.Depth(context.Background())
	if err != nil || d.Jobs != want {
		t.Fatalf("the set holds %+v, want %d jobs: %v", d, want, err)
	}
}

type greeting struct{ Name string }

func at(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

func TestWorkerRunsTypedJobs(t *testing.T) {
	t.Parallel()
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	handle(t, r, "greet", jobs.Handling{}, func(ctx context.Context, g greeting) error {
		run, ok := jobs.RunOf(ctx)
		if !ok || run.Attempt != 1 || run.Handler != "greet" || run.ID.IsZero() {
			t.Errorf("the run is %+v", run)
		}
		seen.add("hello %s", g.Name)
		return nil
	})
	handle(t, r, "raw", jobs.Handling{Lane: jobs.Slow}, func(_ context.Context, b []byte) error {
		seen.add("raw %s", b)
		return nil
	})
	client := direct(t, hot, r)
	job, err := jobs.New("greet", greeting{"Mira"})
	if err != nil {
		t.Fatal(err)
	}
	enqueue(t, client, jobs.Job{Handler: "raw", Payload: []byte("x\x00")}, job)
	stop := work(t, hot, nil, r, jobs.WorkerOptions{Slots: 1})
	if got := seen.await(t, 2); !slices.Equal(got, []string{"hello Mira", "raw x\x00"}) {
		t.Fatalf("ran %q: the fast one comes first", got)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	holds(t, hot, 0)
}

func TestFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	fail := func(name string, most int, err func(attempt int) error) {
		how := jobs.Handling{MaxAttempts: most, Backoff: at(time.Millisecond)}
		handle(t, r, name, how, func(ctx context.Context, _ []byte) error {
			run, _ := jobs.RunOf(ctx)
			seen.add("%s %d", name, run.Attempt)
			return err(run.Attempt)
		})
	}
	fault := errors.New("no luck")
	fail("thrice", 5, func(n int) error {
		if n < 3 {
			return fault
		}
		return nil
	})
	fail("never", 2, func(int) error { return fault })
	fail("panics", 2, func(int) error { panic("boom") })
	fail("exits", 2, func(int) error { runtime.Goexit(); return nil })
	fail("final", 5, func(int) error { return jobs.GiveUp(fault) })
	fail("asks", 5, func(n int) error {
		if n == 1 {
			return jobs.RetryIn(2*time.Millisecond, fault)
		}
		return nil
	})
	postponed := false
	fail("postpones", 1, func(int) error {
		if !postponed {
			postponed = true
			return jobs.Postpone(time.Millisecond, "not yet")
		}
		return nil
	})
	type badly struct{ N int }
	handle(t, r, "typed", jobs.Handling{}, func(context.Context, badly) error { seen.add("typed"); return nil })
	if err := jobs.Handle[badly](r, "none", nil, jobs.Handling{}); err == nil {
		t.Error("a handler without a function is taken")
	}
	client := direct(t, hot, r)
	for _, name := range []string{"thrice", "never", "panics", "exits", "final", "asks", "postpones", "unknown"} {
		enqueue(t, client, jobs.Job{Handler: name, MaxAttempts: map[string]int{"unknown": 1}[name]})
	}
	enqueue(t, client, jobs.Job{Handler: "typed", Payload: []byte("{")})
	stop := work(t, hot, nil, r, jobs.WorkerOptions{})
	want := []string{
		"thrice 1", "thrice 2", "thrice 3", "never 1", "never 2", "panics 1", "panics 2", "exits 1", "exits 2", "final 1",
		"asks 1", "asks 2", "postpones 1", "postpones 1",
	}
	got := seen.await(t, len(want))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("ran %q\nwant %q", got, want)
	}
	holds(t, hot, 0)
}

func TestTimeoutEndsARun(t *testing.T) {
	t.Parallel()
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	handle(t, r, "h", jobs.Handling{MaxAttempts: 1}, func(ctx context.Context, _ []byte) error {
		<-ctx.Done()
		seen.add("%v", ctx.Err())
		return ctx.Err()
	})
	enqueue(t, direct(t, hot, r), jobs.Job{Handler: "h", Timeout: 5 * time.Millisecond})
	work(t, hot, nil, r, jobs.WorkerOptions{})
	if got := seen.await(t, 1); got[0] != context.DeadlineExceeded.Error() {
		t.Fatalf("ended with %q", got)
	}
}

func TestNewerJobSupersedes(t *testing.T) {
	t.Parallel()
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	handle(t, r, "sync", jobs.Handling{Shape: jobs.Superseding}, func(ctx context.Context, payload []byte) error {
		if string(payload) == "old" {
			seen.add("old began")
			<-ctx.Done()
			seen.add("old ended: %v", context.Cause(ctx))
			return ctx.Err()
		}
		seen.add("new")
		return nil
	})
	client := direct(t, hot, r)
	stop := work(t, hot, nil, r, jobs.WorkerOptions{})
	enqueue(t, client, jobs.Job{Handler: "sync", Payload: []byte("old"), DedupeKey: "k"})
	seen.await(t, 1)
	enqueue(t, client, jobs.Job{Handler: "sync", Payload: []byte("new"), DedupeKey: "k"})
	got := seen.await(t, 3)
	slices.Sort(got)
	if want := []string{"new", "old began", "old ended: " + jobs.ErrSuperseded.Error()}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	holds(t, hot, 0)
}

func TestSlowJobsLeaveSlotsFree(t *testing.T) {
	t.Parallel()
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	release := make(chan struct{})
	handle(t, r, "slow", jobs.Handling{Lane: jobs.Slow}, func(context.Context, []byte) error {
		seen.add("slow")
		<-release
		return nil
	})
	handle(t, r, "fast", jobs.Handling{}, func(context.Context, []byte) error { seen.add("fast"); return nil })
	client := direct(t, hot, r)
	for range 20 {
		enqueue(t, client, jobs.Job{Handler: "slow"})
	}
	stop := work(t, hot, nil, r, jobs.WorkerOptions{Slots: 4})
	seen.await(t, 2)
	for range 30 {
		enqueue(t, client, jobs.Job{Handler: "fast"})
	}
	got := seen.await(t, 32)
	if n := len(slices.DeleteFunc(got, func(s string) bool { return s == "fast" })); n != 2 {
		t.Fatalf("%d slow jobs run at a time, want 2", n)
	}
	close(release)
	seen.await(t, 50)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	holds(t, hot, 0)
}

func TestStopFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	release := make(chan struct{})
	handle(t, r, "patient", jobs.Handling{}, func(context.Context, []byte) error {
		seen.add("began")
		<-release
		seen.add("ended")
		return nil
	})
	client := direct(t, hot, r)
	stop := work(t, hot, nil, r, jobs.WorkerOptions{Slots: 1})
	enqueue(t, client, jobs.Job{Handler: "patient"}, jobs.Job{Handler: "patient"})
	seen.await(t, 1)
	stopped := make(chan error)
	go func() { stopped <- stop() }()
	close(release)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	// The second had not begun, or it was let finish too: none is half done.
	d, err := hot.Depth(context.Background())
	if lines := seen.all(); err != nil || len(lines)/2+d.Jobs != 2 || d.Active != 0 {
		t.Fatalf("%q, and the set holds %+v: %v", lines, d, err)
	}
}

func TestStopGivesBackWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	handle(t, r, "obedient", jobs.Handling{}, func(ctx context.Context, _ []byte) error {
		seen.add("began")
		<-ctx.Done()
		return ctx.Err()
	})
	enqueue(t, direct(t, hot, r), jobs.Job{Handler: "obedient"})
	stop := work(t, hot, nil, r, jobs.WorkerOptions{StopPatience: time.Millisecond})
	seen.await(t, 1)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	held, err := hot.Take(context.Background(), jobs.Take{Max: 1, MaxSlow: 1, Lease: time.Minute})
	if err != nil || len(held) != 1 || held[0].Attempts != 0 {
		t.Fatalf("took %v: %v; want the job at once, uncharged", held, err)
	}
}

func TestStopSaysWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	handle(t, r, "stubborn", jobs.Handling{}, func(context.Context, []byte) error {
		seen.add("began")
		<-release
		return nil
	})
	enqueue(t, direct(t, hot, r), jobs.Job{Handler: "stubborn"})
	stop := work(t, hot, nil, r, jobs.WorkerOptions{StopPatience: time.Millisecond, FlushPatience: 20 * time.Millisecond})
	seen.await(t, 1)
	if err := stop(); err == nil || !strings.Contains(err.Error(), "1 jobs did not end") {
		t.Fatalf("stopped: %v", err)
	}
	holds(t, hot, 1)
}

// A worker that dies each time with a job must not take it for ever.
func TestJobThatLosesItsWorkersIsSetAside(t *testing.T) {
	t.Parallel()
	hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
	handle(t, r, "kills", jobs.Handling{}, func(context.Context, []byte) error { seen.add("ran"); return nil })
	handle(t, r, "after", jobs.Handling{}, func(context.Context, []byte) error { seen.add("after"); return nil })
	client := direct(t, hot, r)
	enqueue(t, client, jobs.Job{Handler: "kills", MaxAttempts: 2})
	for range 2 {
		held, err := hot.Take(context.Background(), jobs.Take{Max: 1, MaxSlow: 1, Lease: time.Millisecond, Wait: patience})
		if err != nil || len(held) != 1 {
			t.Fatalf("took %d: %v", len(held), err)
		}
	}
	enqueue(t, client, jobs.Job{Handler: "after"})
	stop := work(t, hot, nil, r, jobs.WorkerOptions{Slots: 1})
	seen.await(t, 1)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	// Its last lease may have ended after the other job ran.
	d, err := hot.Depth(context.Background())
	if got := seen.all(); err != nil || got[0] != "after" || len(got) != 1 || d.Jobs > 1 {
		t.Fatalf("%q, %+v, %v", got, d, err)
	}
}

func TestWorkerOptionsAreChecked(t *testing.T) {
	t.Parallel()
	hot, r := memory(t, jobs.Limits{}), jobs.NewRegistry()
	for field, o := range map[string]jobs.WorkerOptions{
		"slots":      {Slots: jobs.MaxTake + 1},
		"slow share": {SlowShare: 1.1},
		"lease":      {Lease: time.Millisecond},
		"patience":   {StopPatience: -1},
	} {
		if _, err := jobs.NewWorker(hot, nil, r, o); err == nil || !strings.Contains(err.Error(), field+" is") {
			t.Errorf("bad %s: %v", field, err)
		}
	}
	handle(t, r, "one", jobs.Handling{Shape: jobs.Singleton}, func(context.Context, []byte) error { return nil })
	if _, err := jobs.NewWorker(hot, nil, r, jobs.WorkerOptions{}); !errors.Is(err, jobs.ErrNoOutbox) {
		t.Errorf("a singleton without an outbox: %v", err)
	}
	if err := jobs.Handle(r, "one", func(context.Context, []byte) error { return nil }, jobs.Handling{}); err == nil {
		t.Error("registered a name twice")
	}
	if err := jobs.Handle(r, "a b", func(context.Context, []byte) error { return nil }, jobs.Handling{}); err == nil {
		t.Error("registered a bad name")
	}
}
