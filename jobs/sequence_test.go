package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// TestSequences does random things to a whole queue: jobs of every sort are handed
// over while the hot set is cut off, answers are lost, workers and drains die in
// the middle of a step, and the set is wiped. When all is well again, every job
// that was accepted must have run, and of each key the last.
func TestSequences(t *testing.T) {
	t.Parallel()
	sequences(t, 6)
}

func TestSequencesLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("set POSTLEDGER_LONG=1 for a thousand sequences")
	}
	sequences(t, 1000)
}

func sequences(t *testing.T, n uint64) {
	for seed := range n {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			s := newSequence(t, random, jobs.Mode(random.IntN(2)))
			for range 40 {
				s.step()
			}
			s.settle()
		})
	}
}

// flaky is a hot set that can be cut off, whose answers can be lost, and that can
// come back empty. It is safe for concurrent use.
type flaky struct {
	mu            sync.Mutex
	set           jobs.Hot
	before, after bool
}

func (f *flaky) now() (set jobs.Hot, before, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set, f.before, f.after
}

func (f *flaky) cut(before, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

func (f *flaky) wipe(fresh jobs.Hot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set = fresh
}

// through makes a call that may be cut off before or after it.
func through[T any](f *flaky, call func(jobs.Hot) (T, error)) (T, error) {
	var none T
	set, before, after := f.now()
	if before {
		return none, fmt.Errorf("%w: %w", jobs.ErrUnavailable, errCut)
	}
	out, err := call(set)
	if after {
		return none, fmt.Errorf("%w: %w", jobs.ErrUnavailable, errCut)
	}
	return out, err
}

func (f *flaky) alone(call func(jobs.Hot) error) error {
	_, err := through(f, func(h jobs.Hot) (struct{}, error) { return struct{}{}, call(h) })
	return err
}

func (f *flaky) Add(ctx context.Context, add jobs.Add) ([]jobs.Admission, error) {
	out, err := through(f, func(h jobs.Hot) ([]jobs.Admission, error) { return h.Add(ctx, add) })
	if out == nil {
		out = make([]jobs.Admission, len(add.Entries))
	}
	return out, err
}

func (f *flaky) Settle(ctx context.Context, spills []jobs.SpillID) error {
	return f.alone(func(h jobs.Hot) error { return h.Settle(ctx, spills) })
}

func (f *flaky) Take(ctx context.Context, take jobs.Take) ([]*jobs.Held, error) {
	return through(f, func(h jobs.Hot) ([]*jobs.Held, error) { return h.Take(ctx, take) })
}

func (f *flaky) Ack(ctx context.Context, held []*jobs.Held) ([]bool, error) {
	return through(f, func(h jobs.Hot) ([]bool, error) { return h.Ack(ctx, held) })
}

func (f *flaky) Return(ctx context.Context, returns []jobs.Return) ([]bool, error) {
	return through(f, func(h jobs.Hot) ([]bool, error) { return h.Return(ctx, returns) })
}

func (f *flaky) Extend(ctx context.Context, held []*jobs.Held, life time.Duration) ([]jobs.Verdict, error) {
	return through(f, func(h jobs.Hot) ([]jobs.Verdict, error) { return h.Extend(ctx, held, life) })
}

func (f *flaky) Depth(ctx context.Context) (jobs.Depth, error) {
	return through(f, func(h jobs.Hot) (jobs.Depth, error) { return h.Depth(ctx) })
}

func (f *flaky) Contains(ctx context.Context, ids []jobs.ID) ([]bool, error) {
	return through(f, func(h jobs.Hot) ([]bool, error) { return h.Contains(ctx, ids) })
}

func (f *flaky) AwaitRoom(ctx context.Context, lane jobs.Lane) error {
	// A set that is wiped while somebody waits for room says nothing any more.
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	return f.alone(func(h jobs.Hot) error { return h.AwaitRoom(ctx, lane) })
}

func (f *flaky) Hold(ctx context.Context, group string, until time.Time) error {
	return f.alone(func(h jobs.Hot) error { return h.Hold(ctx, group, until) })
}

func (f *flaky) Flags(ctx context.Context) ([]jobs.Flag, error) {
	return through(f, func(h jobs.Hot) ([]jobs.Flag, error) { return h.Flags(ctx) })
}

func (f *flaky) Raise(ctx context.Context, scopes []jobs.Scope) error {
	return f.alone(func(h jobs.Hot) error { return h.Raise(ctx, scopes) })
}

func (f *flaky) Renew(ctx context.Context, flags []jobs.Flag) error {
	return f.alone(func(h jobs.Hot) error { return h.Renew(ctx, flags) })
}

func (f *flaky) Clear(ctx context.Context, flag jobs.Flag, keep []jobs.Scope) (bool, error) {
	return through(f, func(h jobs.Hot) (bool, error) { return h.Clear(ctx, flag, keep) })
}

func (f *flaky) Epoch(ctx context.Context) (string, error) {
	return through(f, func(h jobs.Hot) (string, error) { return h.Epoch(ctx) })
}

func (f *flaky) Close() error { return nil }

// sequence is one queue and the model of it: what was accepted.
type sequence struct {
	*testing.T
	random   *rand.Rand
	mode     jobs.Mode
	limits   jobs.Limits
	hot      *flaky
	outbox   jobs.Outbox
	client   *jobs.Client
	registry *jobs.Registry

	drain     atomic.Pointer[jobs.Drain]
	logged    *logged
	stopDrain func()
	stopWork  func()
	crash     atomic.Bool // the drain dies at its next failpoint

	accepted []string
	last     map[string][]string // by key: the last accepted payload, and those after it whose fate is unknown
	number   int

	mu  sync.Mutex
	ran map[string]int
}

func newSequence(t *testing.T, random *rand.Rand, mode jobs.Mode) *sequence {
	limits := jobs.Limits{Jobs: 2 + random.IntN(12), GroupShare: 1 + random.IntN(4), FlagLife: 200 * time.Millisecond}
	outbox, _ := box(t)
	s := &sequence{
		T: t, random: random, mode: mode, limits: limits, outbox: outbox,
		hot: &flaky{set: memory(t, limits)}, registry: jobs.NewRegistry(),
		last: map[string][]string{}, ran: map[string]int{}, logged: &logged{}, stopWork: func() {},
	}
	handle(t, s.registry, "h", jobs.Handling{MaxAttempts: 1000, Backoff: at(time.Millisecond)}, s.run)
	s.client = clientOf(t, s.hot, outbox, jobs.ClientOptions{
		Mode: mode, Registry: s.registry, Wake: func() { s.drain.Load().Wake() },
	})
	s.startDrain()
	t.Cleanup(func() { s.stopWork(); s.stopDrain() })
	return s
}

// run fails each fifth job at first.
func (s *sequence) run(ctx context.Context, payload []byte) error {
	run, _ := jobs.RunOf(ctx)
	if n, _ := strconv.Atoi(string(payload)); n%5 == 0 && run.Attempt == 1 {
		return errors.New("no luck")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran[string(payload)]++
	return nil
}

func (s *sequence) startDrain() {
	ctx, cancel := context.WithCancel(context.Background())
	var drain *jobs.Drain
	s.number++
	drain = jobs.NewDrain(s.hot, s.outbox, jobs.DrainConfig{
		Log:   slog.New(s.logged),
		Owner: strconv.Itoa(s.number), Chunk: 3, GroupChunk: 2, Idle: 5 * time.Millisecond,
		Beat: 20 * time.Millisecond, Sweep: 10 * time.Millisecond, LostAge: 5 * time.Millisecond,
		Failpoint: func(string) {
			if s.crash.CompareAndSwap(true, false) {
				cancel() // what it has begun fails from here on
			}
		},
	})
	s.drain.Store(drain)
	done := make(chan struct{})
	go func() { defer close(done); drain.Run(ctx) }()
	s.stopDrain = func() { cancel(); <-done }
}

func (s *sequence) step() {
	switch s.random.IntN(12) {
	case 0:
		s.hot.cut(s.random.IntN(3) == 0, s.random.IntN(3) == 0)
	case 1:
		s.hot.cut(false, false)
	case 2: // a worker that dies with what it took
		_, _ = s.hot.Take(context.Background(), jobs.Take{Max: 3, MaxSlow: 3, Lease: time.Millisecond})
	case 3:
		s.crash.Store(true)
	case 4:
		s.stopDrain()
		s.startDrain()
	case 5:
		if s.mode == jobs.Always {
			s.hot.wipe(memory(s.T, s.limits))
		}
	case 6:
		s.stopWork()
		s.stopWork = s.work()
	default:
		s.enqueue()
	}
}

func (s *sequence) work() (stop func()) {
	worker, err := jobs.NewWorker(s.hot, s.outbox, s.registry, jobs.WorkerOptions{
		Slots: 3, Lease: 200 * time.Millisecond, StopPatience: time.Second, FlushPatience: 20 * time.Millisecond,
	})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	// What it could not write runs again: the end of the test sees to it.
	go func() { defer close(done); _ = worker.Run(ctx) }()
	return func() { cancel(); <-done }
}

func (s *sequence) enqueue() {
	var list []jobs.Job
	for range 1 + s.random.IntN(5) {
		s.number++
		job := jobs.Job{Handler: "h", Payload: []byte(strconv.Itoa(s.number)), Lane: jobs.Lanes[s.random.IntN(2)]}
		switch s.random.IntN(4) {
		case 0:
			job.Group = []string{"a", "b"}[s.random.IntN(2)]
		case 1:
			job.DedupeKey = []string{"k", "l"}[s.random.IntN(2)]
		case 2:
			job.RunAt = time.Now().Add(time.Duration(s.random.IntN(20)) * time.Millisecond)
		}
		list = append(list, job)
	}
	_, err := s.client.EnqueueMany(context.Background(), list)
	for _, job := range list {
		payload := string(job.Payload)
		switch {
		case job.DedupeKey == "":
			if err == nil {
				s.accepted = append(s.accepted, payload)
			}
		case err == nil:
			s.last[job.DedupeKey] = []string{payload}
		default:
			s.last[job.DedupeKey] = append(s.last[job.DedupeKey], payload)
		}
	}
}

// emptyLooks in a row find a queue empty that is: a job may be on its way from its row
// to the set between the look at the one and at the other.
const emptyLooks = 10

// settle lets all be well again and waits until the queue is empty.
func (s *sequence) settle() {
	s.crash.Store(false)
	s.hot.cut(false, false)
	s.stopWork()
	s.stopDrain()
	s.startDrain()
	s.stopWork = s.work()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for empty := 0; empty < emptyLooks; empty++ {
		depth, err := s.hot.Depth(ctx)
		list, _, listErr := s.outbox.List(ctx, jobs.Query{Limit: 100})
		if err != nil || listErr != nil || depth.Jobs > 0 || len(list) > 0 {
			empty = -1
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.Fatalf("after %v the set holds %+v and the outbox %v (%v, %v); the drain said last %q",
				3*patience, depth, list, err, listErr, s.logged.last(5))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, payload := range s.accepted {
		if s.ran[payload] == 0 {
			s.Errorf("job %s was accepted and did not run", payload)
		}
	}
	for key, last := range s.last {
		ran := false
		for _, payload := range last {
			ran = ran || s.ran[payload] > 0
		}
		if !ran {
			s.Errorf("of key %s none of the last (%v) ran", key, last)
		}
	}
}
