package jobs_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// schedulers run until the test ends.
func (b *drainBench) schedulers(n int) *jobs.Scheduler {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	b.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	var s *jobs.Scheduler
	for range n {
		s = jobs.NewScheduler(b.hot, b.outbox, jobs.SchedulerConfig{
			Owner: b.ids.Next(time.Now()).String(), Tick: 5 * time.Millisecond,
			LeaseLife: time.Nanosecond, // nobody believes the others' leases
		})
		wg.Go(func() { s.Run(ctx) })
	}
	return s
}

// Many schedulers make one job of a moment, and one of all that were missed.
func TestSchedulersMakeOneJobOfWhatWasMissed(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{})
	missed := time.Now().Add(-200 * time.Hour).Truncate(time.Minute)
	err := b.outbox.SaveSchedule(t.Context(), jobs.Schedule{
		Name: "often", Spec: "7 * * * *", Enabled: true, Handler: "h", Payload: []byte("x"), Lane: jobs.Slow, NextAt: missed,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := b.schedulers(4)
	got := b.work(1)[0]
	if got.Kind != jobs.Cron || got.Handler != "h" || string(got.Payload) != "x" || got.Lane != jobs.Slow || !got.Durable {
		t.Errorf("the job is %+v", got)
	}
	now := time.Now()
	schedule, err := b.outbox.GetSchedule(t.Context(), "often")
	if err != nil || schedule.NextAt.Before(now.Add(-time.Second)) || schedule.NextAt.After(now.Add(time.Hour)) ||
		schedule.LastAt.Before(now.Add(-time.Hour-time.Second)) || schedule.LastAt.Minute() != 7 {
		t.Errorf("the schedule is %+v (%v)", schedule, err)
	}
	// Whatever they looked at since, there is no second job.
	id, err := s.Trigger(t.Context(), "often")
	if err != nil {
		t.Fatal(err)
	}
	if next := b.work(1)[0]; next.ID != id || next.Kind != jobs.Trigger {
		t.Errorf("the next job is %+v, want the one that was triggered", next)
	}
	b.eventually("no row is left", func() bool { left := b.backlog(); return left.Rows()+left.Admitted == 0 })
}

func TestSchedulesAreSavedAndSwitched(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{})
	s := jobs.NewScheduler(b.hot, b.outbox, jobs.SchedulerConfig{})
	daily := jobs.Schedule{Name: "daily", Spec: "@daily", Enabled: true, Handler: "h"}
	get := func() jobs.Schedule {
		t.Helper()
		got, err := b.outbox.GetSchedule(t.Context(), "daily")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	save := func(schedule jobs.Schedule) {
		t.Helper()
		if err := s.Save(t.Context(), schedule); err != nil {
			t.Fatal(err)
		}
	}
	save(daily)
	if next := get().NextAt; !next.After(time.Now()) {
		t.Errorf("it runs next at %v", next)
	}
	// One that was missed while the application was away stays due when it saves
	// its schedules at its start.
	missed := get()
	missed.NextAt = missed.NextAt.Add(-48 * time.Hour)
	if err := b.outbox.SaveSchedule(t.Context(), missed); err != nil {
		t.Fatal(err)
	}
	save(daily)
	if got := get(); !got.NextAt.Equal(missed.NextAt) {
		t.Errorf("saving it again moved it from %v to %v", missed.NextAt, got.NextAt)
	}
	daily.Spec = "@hourly"
	save(daily)
	if got := get(); !got.NextAt.After(time.Now()) {
		t.Errorf("another timetable runs next at %v", got.NextAt)
	}
	for _, on := range []bool{false, true} {
		if err := s.Enable(t.Context(), "daily", on); err != nil || get().Enabled != on {
			t.Errorf("switched to %v: %+v (%v)", on, get(), err)
		}
	}
	if err := s.Enable(t.Context(), "none", true); !errors.Is(err, jobs.ErrUnknownSchedule) {
		t.Errorf("an unknown one: %v", err)
	}
	for _, bad := range []jobs.Schedule{
		{Name: "", Spec: "@daily", Handler: "h"},
		{Name: "a", Spec: "@daily"},
		{Name: "a", Spec: "never", Handler: "h"},
		{Name: "a", Spec: "@daily", Handler: "h", Lane: "bulk"},
		{Name: "a", Spec: "@daily", Handler: "h", Payload: make([]byte, jobs.MaxPayload+1)},
	} {
		if err := s.Save(t.Context(), bad); !errors.Is(err, jobs.ErrBadJob) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// counted counts what a scheduler asks its outbox.
type counted struct {
	jobs.Outbox
	leases, looks atomic.Int64
	enough        chan struct{}
}

func (c *counted) AcquireLease(ctx context.Context, name, owner string, life time.Duration) (int64, bool, error) {
	c.leases.Add(1)
	return c.Outbox.AcquireLease(ctx, name, owner, life)
}

func (c *counted) DueSchedules(ctx context.Context, limit int) ([]jobs.Schedule, error) {
	if c.looks.Add(1) == 20 {
		close(c.enough)
	}
	return c.Outbox.DueSchedules(ctx, limit)
}

// A look at the clock writes nothing: its lease is renewed in a third of its life.
func TestASchedulerThatIdlesWritesNothing(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{})
	box := &counted{Outbox: b.outbox, enough: make(chan struct{})}
	s := jobs.NewScheduler(b.hot, box, jobs.SchedulerConfig{Owner: "one", Tick: 5 * time.Millisecond, LeaseLife: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	<-box.enough
	cancel()
	<-done
	if n := box.leases.Load(); n != 1 {
		t.Errorf("%d leases for %d looks", n, box.looks.Load())
	}
}
