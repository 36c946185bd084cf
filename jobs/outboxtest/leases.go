package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func acquire(t *testing.T, s Store, name, owner string, life time.Duration) (int64, bool) {
	t.Helper()
	fence, ok, err := s.AcquireLease(context.Background(), name, owner, life)
	if err != nil {
		t.Fatal(err)
	}
	return fence, ok
}

func leases(t *testing.T, s Store) {
	ctx := context.Background()
	want := func(owner string, life time.Duration, fence int64, ok bool) {
		t.Helper()
		if f, o := acquire(t, s, "drain", owner, life); f != fence || o != ok {
			t.Fatalf("%s got fence %d, %v, want %d, %v", owner, f, o, fence, ok)
		}
	}
	want("a", time.Hour, 1, true)
	want("b", time.Hour, 0, false)
	want("a", time.Hour, 1, true)
	if _, ok := acquire(t, s, "another", "b", time.Hour); !ok {
		t.Error("a lease of another name was refused")
	}
	if err := s.ReleaseLease(ctx, "drain", "b"); err != nil {
		t.Fatal(err)
	}
	want("b", time.Hour, 0, false)
	if err := s.ReleaseLease(ctx, "drain", "a"); err != nil {
		t.Fatal(err)
	}
	want("b", time.Millisecond, 2, true)
	eventually(t, "the lease runs out", func() bool {
		fence, ok := acquire(t, s, "drain", "a", time.Hour)
		if ok && fence != 3 {
			t.Fatalf("the third owner's fence is %d", fence)
		}
		return ok
	})
	want("b", time.Hour, 0, false)
	want("a", time.Hour, 3, true)
}

// A lease that reaches further ahead than a new one would was written under
// another clock. It is brought near, and does not stop its work for an hour.
func aLeaseUnderAnotherClock(t *testing.T, s Store) {
	acquire(t, s, "drain", "a", time.Hour)
	eventually(t, "the lease is brought near", func() bool {
		_, ok := acquire(t, s, "drain", "b", 20*time.Millisecond)
		return ok
	})
}

func leasesHaveOneOwner(t *testing.T, s Store) {
	var (
		wg    sync.WaitGroup
		taken atomic.Int32
	)
	for i := range 8 {
		wg.Go(func() {
			_, ok, err := s.AcquireLease(context.Background(), "drain", fmt.Sprint("owner ", i), time.Hour)
			if err != nil {
				t.Error(err)
			}
			if ok {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if n := taken.Load(); n != 1 {
		t.Errorf("%d owners", n)
	}
}

func schedules(t *testing.T, s Store) {
	ctx := context.Background()
	if _, err := s.GetSchedule(ctx, "none"); !errors.Is(err, jobs.ErrUnknownSchedule) {
		t.Errorf("get an unknown one: %v", err)
	}
	if err := s.RemoveSchedule(ctx, "none"); !errors.Is(err, jobs.ErrUnknownSchedule) {
		t.Errorf("remove an unknown one: %v", err)
	}
	moment := now()
	b := jobs.Schedule{
		Name: "b", Spec: "5 4 * * *", Zone: "Europe/Berlin", Enabled: true, Handler: "h", Payload: []byte{0, 1}, Lane: jobs.Slow,
		MaxAttempts: 3, Timeout: time.Minute, NextAt: moment.Add(-time.Minute), LastAt: moment.Add(-time.Hour),
	}
	a := jobs.Schedule{Name: "a", Spec: "@daily", Handler: "h", Payload: []byte{}, NextAt: moment.Add(-time.Hour)}
	c := jobs.Schedule{Name: "c", Spec: "@daily", Enabled: true, Handler: "h", Payload: []byte{}, NextAt: moment.Add(time.Hour)}
	d := jobs.Schedule{Name: "d", Spec: "@daily", Enabled: true, Handler: "h", Payload: []byte{}, NextAt: moment.Add(-time.Hour)}
	for _, one := range []jobs.Schedule{b, a, c, d} {
		if err := s.SaveSchedule(ctx, one); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.ListSchedules(ctx)
	if err != nil || !reflect.DeepEqual(all, []jobs.Schedule{a, b, c, d}) {
		t.Errorf("got %+v (%v)", all, err)
	}
	due, err := s.DueSchedules(ctx, 10)
	if err != nil || !reflect.DeepEqual(due, []jobs.Schedule{d, b}) {
		t.Errorf("due are %+v (%v)", due, err)
	}
	b.Spec = "@hourly"
	if err := s.SaveSchedule(ctx, b); err != nil {
		t.Fatal(err)
	}
	if got, err := s.GetSchedule(ctx, "b"); err != nil || !reflect.DeepEqual(got, b) {
		t.Errorf("got %+v (%v)", got, err)
	}
	if err := s.RemoveSchedule(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.GetSchedule(ctx, "b"); !errors.Is(err, jobs.ErrUnknownSchedule) {
		t.Errorf("get a removed one: %v", err)
	}
}

func schedulesFireOnce(t *testing.T, s Store) {
	ctx := context.Background()
	from := now().Add(-time.Hour)
	at, to := from.Add(30*time.Minute), from.Add(2*time.Hour)
	if err := s.SaveSchedule(ctx, jobs.Schedule{Name: "a", Spec: "@hourly", Enabled: true, Handler: "h", NextAt: from}); err != nil {
		t.Fatal(err)
	}
	var (
		wg   sync.WaitGroup
		runs atomic.Int32
	)
	for range 8 {
		entry := job(durable)
		wg.Go(func() {
			ok, err := s.FireSchedule(ctx, "a", from, at, to, jobs.Insertion{Entry: entry})
			if err != nil {
				t.Error(err)
			}
			if ok {
				runs.Add(1)
			}
		})
	}
	wg.Wait()
	got, err := s.GetSchedule(ctx, "a")
	if err != nil || runs.Load() != 1 || !got.NextAt.Equal(to) || !got.LastAt.Equal(at) {
		t.Errorf("%d fired it, and it is %+v (%v)", runs.Load(), got, err)
	}
	if rows := waiting(t, s, fastPlain); len(rows) != 1 {
		t.Errorf("it made %d jobs", len(rows))
	}

	off := jobs.Schedule{Name: "off", Spec: "@hourly", Handler: "h", NextAt: from}
	if err := s.SaveSchedule(ctx, off); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.FireSchedule(ctx, "off", from, at, to, jobs.Insertion{Entry: job()}); ok || err != nil {
		t.Errorf("a schedule that is off fired: %v, %v", ok, err)
	}
}
