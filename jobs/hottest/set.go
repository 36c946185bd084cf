package hottest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// patience bounds what a test waits for.
const patience = 20 * time.Second

// set is a handle that fails the test on every error.
type set struct {
	testing.TB
	jobs.Hot
	ids jobs.IDSource
}

func opened(t *testing.T, open Open, limits jobs.Limits) *set {
	t.Helper()
	handle := open(t, limits)
	s := &set{TB: t, Hot: handle()}
	t.Cleanup(func() {
		if err := s.Hot.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func (s *set) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.Cleanup(cancel)
	return ctx
}

// entry makes a plain fast job.
func (s *set) entry(change ...func(*jobs.Entry)) jobs.Entry {
	now := time.Now()
	e := jobs.Entry{
		Job:        jobs.Job{ID: s.ids.Next(now), Handler: "h", Lane: jobs.Fast, Payload: []byte("p"), MaxAttempts: 5},
		Rev:        1,
		EnqueuedAt: now,
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

func (s *set) entries(n int, change ...func(*jobs.Entry)) []jobs.Entry {
	out := make([]jobs.Entry, n)
	for i := range out {
		out[i] = s.entry(change...)
	}
	return out
}

func slow(e *jobs.Entry)    { e.Lane = jobs.Slow }
func durable(e *jobs.Entry) { e.Durable = true }

func group(name string) func(*jobs.Entry) { return func(e *jobs.Entry) { e.Group = name } }
func key(name string) func(*jobs.Entry)   { return func(e *jobs.Entry) { e.DedupeKey = name } }

func after(d time.Duration) func(*jobs.Entry) {
	return func(e *jobs.Entry) { e.RunAt = time.Now().Add(d) }
}

func (s *set) do(add jobs.Add) []jobs.Admission {
	s.Helper()
	out, err := s.Hot.Add(s.ctx(), add)
	if err != nil {
		s.Fatalf("add: %v", err)
	}
	return out
}

func (s *set) add(entries ...jobs.Entry) []jobs.Admission {
	s.Helper()
	return s.do(jobs.Add{Entries: entries})
}

// expect adds and compares the answers, which may be fewer than the jobs when
// they are all the same.
func (s *set) expect(want jobs.Admission, entries ...jobs.Entry) {
	s.Helper()
	s.expectAll(s.add(entries...), want)
}

func (s *set) drain(want jobs.Admission, entries ...jobs.Entry) {
	s.Helper()
	s.expectAll(s.do(jobs.Add{Entries: entries, Drain: true}), want)
}

func (s *set) expectAll(got []jobs.Admission, want jobs.Admission) {
	s.Helper()
	for n, a := range got {
		if a != want {
			s.Fatalf("job %d of %d is %v, want %v", n, len(got), a, want)
		}
	}
}

// take takes without waiting.
func (s *set) take(most, slow int) []*jobs.Held {
	s.Helper()
	return s.takeWith(jobs.Take{Max: most, MaxSlow: slow, Lease: time.Minute})
}

func (s *set) takeWith(take jobs.Take) []*jobs.Held {
	s.Helper()
	take.Worker = "w"
	held, err := s.Hot.Take(s.ctx(), take)
	if err != nil {
		s.Fatalf("take: %v", err)
	}
	return held
}

// taken waits until a job can be taken.
func (s *set) taken() *jobs.Held {
	s.Helper()
	held := s.takeWith(jobs.Take{Max: 1, MaxSlow: 1, Lease: time.Minute, Wait: patience / 2})
	if len(held) != 1 {
		s.Fatalf("took %d jobs, want 1", len(held))
	}
	return held[0]
}

// takesAll takes and acknowledges everything, and compares the order.
func (s *set) takesAll(want ...jobs.Entry) {
	s.Helper()
	var got []jobs.ID
	for held := s.take(100, 100); len(held) > 0; held = s.take(100, 100) {
		for _, h := range held {
			got = append(got, h.ID)
		}
		s.ack(true, held...)
	}
	if !slices.Equal(got, ids(want)) {
		s.Fatalf("took %s\nwant %s", show(got), show(ids(want)))
	}
}

func (s *set) ack(want bool, held ...*jobs.Held) {
	s.Helper()
	out, err := s.Hot.Ack(s.ctx(), held)
	if err != nil {
		s.Fatalf("ack: %v", err)
	}
	for n, ok := range out {
		if ok != want {
			s.Fatalf("acknowledged job %d of %d: %v, want %v", n, len(out), ok, want)
		}
	}
}

func (s *set) giveBack(want bool, returns ...jobs.Return) {
	s.Helper()
	out, err := s.Hot.Return(s.ctx(), returns)
	if err != nil {
		s.Fatalf("return: %v", err)
	}
	for n, ok := range out {
		if ok != want {
			s.Fatalf("returned job %d of %d: %v, want %v", n, len(out), ok, want)
		}
	}
}

func (s *set) extend(want jobs.Verdict, held ...*jobs.Held) {
	s.Helper()
	out, err := s.Hot.Extend(s.ctx(), held, time.Minute)
	if err != nil {
		s.Fatalf("extend: %v", err)
	}
	for n, v := range out {
		if v != want {
			s.Fatalf("lease %d of %d: verdict %d, want %d", n, len(out), v, want)
		}
	}
}

func (s *set) depth() jobs.Depth {
	s.Helper()
	d, err := s.Hot.Depth(s.ctx())
	if err != nil {
		s.Fatalf("depth: %v", err)
	}
	return d
}

func (s *set) holds(n int) {
	s.Helper()
	if d := s.depth(); d.Jobs != n {
		s.Fatalf("the set holds %+v, want %d jobs", d, n)
	}
}

// flag is the flag of a scope; its number is 0 when it is down.
func (s *set) flag(scope jobs.Scope) jobs.Flag {
	s.Helper()
	flags, err := s.Hot.Flags(s.ctx())
	if err != nil {
		s.Fatalf("flags: %v", err)
	}
	for _, f := range flags {
		if f.Scope == scope {
			return f
		}
	}
	return jobs.Flag{Scope: scope}
}

func (s *set) raised(scope jobs.Scope, want bool) jobs.Flag {
	s.Helper()
	f := s.flag(scope)
	if (f.Number != 0) != want {
		s.Fatalf("the flag of %v is %+v, want it up: %v", scope, f, want)
	}
	return f
}

func (s *set) clear(want bool, f jobs.Flag, keep ...jobs.Scope) {
	s.Helper()
	ok, err := s.Hot.Clear(s.ctx(), f, keep)
	if err != nil {
		s.Fatalf("clear: %v", err)
	}
	if ok != want {
		s.Fatalf("cleared the flag of %v: %v, want %v", f.Scope, ok, want)
	}
}

func (s *set) no(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// until polls what becomes true by itself.
func (s *set) until(what string, ok func() bool) {
	s.Helper()
	ctx := s.ctx()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.Fatalf("still not so after %v: %s", patience, what)
		}
	}
}

func ids(entries []jobs.Entry) []jobs.ID {
	out := make([]jobs.ID, len(entries))
	for i := range entries {
		out[i] = entries[i].ID
	}
	return out
}

func show(ids []jobs.ID) string {
	out := ""
	for _, id := range ids {
		out += fmt.Sprintf(" %x", id[6:10])
	}
	return out
}

var (
	fastLane = jobs.Scope{Lane: jobs.Fast}
	slowLane = jobs.Scope{Lane: jobs.Slow}
)
