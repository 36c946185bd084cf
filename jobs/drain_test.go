package jobs_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/memhot"
	"github.com/postledger/postledger/jobs/sqlitebox"
)

// bench is a hot set in memory and an outbox on SQLite, both real.
type drainBench struct {
	*testing.T
	hot    jobs.Hot
	outbox sqlitebox.Box
	ids    jobs.IDSource
	logged *logged
}

func newDrainBench(t *testing.T, limits jobs.Limits) *drainBench {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "jobs.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := sqlitebox.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	b := &drainBench{T: t, outbox: sqlitebox.New(db), logged: &logged{}}
	b.restartHot(limits)
	return b
}

// restartHot is a hot set that came back empty.
func (b *drainBench) restartHot(limits jobs.Limits) {
	b.Helper()
	hot, err := memhot.New(limits)
	if err != nil {
		b.Fatal(err)
	}
	b.hot = hot
}

func (b *drainBench) entry(change ...func(*jobs.Entry)) jobs.Entry {
	now := time.Now()
	e := jobs.Entry{Job: jobs.Job{ID: b.ids.Next(now), Handler: "h", Lane: jobs.Fast, Payload: []byte("p"), MaxAttempts: 5}, Rev: 1, EnqueuedAt: now}
	for _, c := range change {
		c(&e)
	}
	return e
}

func (b *drainBench) entries(n int, change ...func(*jobs.Entry)) []jobs.Entry {
	all := make([]jobs.Entry, n)
	for i := range all {
		all[i] = b.entry(change...)
	}
	return all
}

func (b *drainBench) write(entries ...jobs.Entry) {
	b.Helper()
	rows := make([]jobs.Insertion, len(entries))
	for i := range entries {
		rows[i].Entry = entries[i]
	}
	if _, err := b.outbox.Insert(context.Background(), rows); err != nil {
		b.Fatal(err)
	}
}

// drain runs a drain until the test ends, or until stop is called.
func (b *drainBench) drain(config jobs.DrainConfig) (d *jobs.Drain, stop func()) {
	b.Helper()
	if config.Owner == "" {
		config.Owner = "drain " + b.ids.Next(time.Now()).String()
	}
	if config.Idle == 0 {
		config.Idle = 5 * time.Millisecond
	}
	config.Log = slog.New(b.logged)
	d = jobs.NewDrain(b.hot, b.outbox, config)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	b.Cleanup(stop)
	return d, stop
}

// work takes and finishes n jobs and returns them in the order they came.
func (b *drainBench) work(n int) []jobs.Entry {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var all []jobs.Entry
	for len(all) < n {
		held, err := b.hot.Take(ctx, jobs.Take{Worker: "w", Max: min(20, n-len(all)), MaxSlow: min(20, n-len(all)), Lease: time.Minute, Wait: time.Second})
		if err != nil {
			b.Fatalf("after %d of %d jobs: %v", len(all), n, err)
		}
		for _, h := range held {
			all = append(all, h.Entry)
			b.finish(h)
		}
	}
	return all
}

func (b *drainBench) finish(h *jobs.Held) {
	b.Helper()
	if h.Durable {
		if _, err := b.outbox.Remove(context.Background(), []jobs.Ref{h.Ref()}); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := b.hot.Ack(context.Background(), []*jobs.Held{h}); err != nil {
		b.Fatal(err)
	}
}

func (b *drainBench) eventually(what string, holds func() bool) {
	b.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	timeout := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-poll.C:
		case <-timeout:
			b.Fatalf("%s: not within 30 s; logged %q", what, b.logged.all())
		}
	}
}

func (b *drainBench) backlog() jobs.Backlog {
	b.Helper()
	backlog, err := b.outbox.Backlog(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return backlog
}

func (b *drainBench) flags() []jobs.Flag {
	b.Helper()
	flags, err := b.hot.Flags(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return flags
}

func wantOrder(t *testing.T, got, want []jobs.Entry) {
	t.Helper()
	same := slices.EqualFunc(got, want, func(a, b jobs.Entry) bool { return a.ID == b.ID })
	if !same {
		t.Fatalf("%d jobs came in another order than %d were written in", len(got), len(want))
	}
}

func groupOf(name string) func(*jobs.Entry) { return func(e *jobs.Entry) { e.Group = name } }
func durably(e *jobs.Entry)                 { e.Durable = true }
func slowly(e *jobs.Entry)                  { e.Lane = jobs.Slow }

// Rows are drained in their order, through a set a tenth as large; the flag keeps
// fresh jobs behind them, and goes down when none are left.
func TestDrainKeepsTheOrderAndEndsTheOverflow(t *testing.T) {
	t.Parallel()
	for name, durable := range map[string]bool{"rows that go": false, "rows that stay": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newDrainBench(t, jobs.Limits{Jobs: 50})
			all := b.entries(500, func(e *jobs.Entry) { e.Durable = durable })
			if err := b.hot.Raise(t.Context(), []jobs.Scope{{Lane: jobs.Fast}}); err != nil {
				t.Fatal(err)
			}
			b.write(all...)
			b.drain(jobs.DrainConfig{Chunk: 30})
			got := b.work(100)
			fresh := b.entry()
			answers, err := b.hot.Add(t.Context(), jobs.Add{Entries: []jobs.Entry{fresh}})
			if err != nil || answers[0] != jobs.Spilled {
				t.Fatalf("a fresh job beside 400 rows is %v (%v)", answers, err)
			}
			b.write(fresh)
			got = append(got, b.work(401)...)
			wantOrder(t, got, append(all, fresh))
			b.eventually("the flag goes down", func() bool { return len(b.flags()) == 0 })
			if left := b.backlog(); left.Rows()+left.Admitted != 0 {
				t.Errorf("left is %+v", left)
			}
		})
	}
}

// A group that nobody works for does not stop the others, has its share at most,
// and is not admitted while it is held.
func TestDrainTakesGroupsInTurn(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{Jobs: 400, GroupShare: 40})
	b.write(b.entries(1000, groupOf("a dead one"))...)
	for n := range 250 {
		b.write(b.entries(2, groupOf(fmt.Sprintf("g%03d", n)))...)
	}
	held := b.entry(groupOf("held"))
	b.write(held)
	if err := b.hot.Hold(t.Context(), "held", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	b.drain(jobs.DrainConfig{})
	seen := map[string]int{}
	for len(seen) < 251 || seen["g249"] < 2 {
		h, err := b.hot.Take(t.Context(), jobs.Take{Worker: "w", Max: 1, Lease: time.Minute, Wait: 10 * time.Second})
		if err != nil || len(h) == 0 {
			t.Fatalf("%d jobs (%v) after %v", len(h), err, seen)
		}
		seen[h[0].Group]++
		if h[0].Group != "a dead one" {
			b.finish(h[0])
		}
		if seen["a dead one"] > 40 || seen["held"] > 0 {
			t.Fatalf("%d of the dead group, %d of the held one", seen["a dead one"], seen["held"])
		}
	}
	if err := b.hot.Hold(t.Context(), "held", time.Time{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the held group's job is admitted", func() bool {
		in, err := b.hot.Contains(t.Context(), []jobs.ID{held.ID})
		return err == nil && in[0]
	})
}

// What ends while the drain is between the hot set and the row, with a newer job
// of the key written in that gap: the last payload runs.
func TestDrainNeverLosesAnUpsertInTheGap(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		for _, point := range []string{"drain: added", "drain: marked"} {
			t.Run(fmt.Sprint(point, " durable ", durable), func(t *testing.T) {
				t.Parallel()
				b := newDrainBench(t, jobs.Limits{})
				change := func(payload string) func(*jobs.Entry) {
					return func(e *jobs.Entry) { e.DedupeKey, e.Durable, e.Payload = "k", durable, []byte(payload) }
				}
				b.write(b.entry(change("first")))
				var once sync.Once
				b.drain(jobs.DrainConfig{Failpoint: func(name string) {
					if name == point {
						once.Do(func() { b.write(b.entry(change("last"))) })
					}
				}})
				var last string
				b.eventually("the last payload runs", func() bool {
					held, err := b.hot.Take(t.Context(), jobs.Take{Worker: "w", Max: 5, Lease: time.Minute})
					if err != nil {
						t.Fatal(err)
					}
					for _, h := range held {
						last = string(h.Payload)
						b.finish(h)
					}
					return last == "last"
				})
				b.eventually("no row is left", func() bool { left := b.backlog(); return left.Rows()+left.Admitted == 0 })
			})
		}
	}
}

// A drain that dies between the hot set and the row runs nothing twice beyond
// what the next one is told: the row is marked, and the job is one.
func TestAnotherDrainFinishesWhatOneLeft(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprint("durable ", durable), func(t *testing.T) {
			t.Parallel()
			b := newDrainBench(t, jobs.Limits{})
			all := b.entries(20, func(e *jobs.Entry) { e.Durable = durable })
			b.write(all...)
			// As one that died there: the jobs are in, their rows untouched.
			if _, err := b.hot.Add(t.Context(), jobs.Add{Entries: all, Drain: true}); err != nil {
				t.Fatal(err)
			}
			if _, ok, err := b.outbox.AcquireLease(t.Context(), jobs.DrainLease, "the dead one", 50*time.Millisecond); !ok || err != nil {
				t.Fatal(ok, err)
			}
			b.drain(jobs.DrainConfig{LeaseLife: time.Second})
			b.eventually("the rows are marked", func() bool { return b.backlog().Rows() == 0 })
			wantOrder(t, b.work(20), all)
			depth, err := b.hot.Depth(t.Context())
			if err != nil || depth.Jobs != 0 || b.backlog().Admitted != 0 {
				t.Errorf("left are %d hot jobs (%v) and %d rows", depth.Jobs, err, b.backlog().Admitted)
			}
		})
	}
}

func TestDrainRefillsASetThatLostItsJobs(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{Jobs: 50})
	all := b.entries(30, durably)
	b.write(all...)
	_, stop := b.drain(jobs.DrainConfig{})
	b.eventually("all are hot", func() bool { return b.backlog().Admitted == 30 })
	done := b.work(10)
	stop()
	b.restartHot(jobs.Limits{Jobs: 50})
	b.drain(jobs.DrainConfig{})
	wantOrder(t, append(done, b.work(20)...), all)
}

// A set that came back with a part of its data has the epoch, and not the jobs.
func TestDrainFindsJobsThatTheSetDoesNotHold(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{})
	epoch, err := b.hot.Epoch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := b.entry(durably)
	if _, err := b.outbox.Insert(t.Context(), []jobs.Insertion{{Entry: lost, Epoch: epoch}}); err != nil {
		t.Fatal(err)
	}
	b.drain(jobs.DrainConfig{LostAge: time.Millisecond, Sweep: time.Millisecond})
	wantOrder(t, b.work(1), []jobs.Entry{lost})
}

// A poison row is set aside after some failures, and blocks nobody meanwhile.
func TestDrainSetsAPoisonRowAside(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{})
	// No client writes such a row; another program may.
	poison := b.entry(func(e *jobs.Entry) { e.MaxAttempts = jobs.MaxAttempts + 1 })
	good := b.entries(5)
	b.write(poison)
	b.write(good...)
	d, _ := b.drain(jobs.DrainConfig{Refusals: 5})
	wantOrder(t, b.work(5), good)
	b.eventually("it is set aside", func() bool { return b.backlog().Quarantined == 1 })
	row, err := b.outbox.Get(t.Context(), poison.ID)
	if err != nil || !strings.Contains(row.Reason, "max attempts") {
		t.Errorf("the reason is %q (%v)", row.Reason, err)
	}
	if n := d.Stats().Refused; n != 5 {
		t.Errorf("it was refused %d times, want 5", n)
	}
	b.eventually("the flag goes down", func() bool { return len(b.flags()) == 0 })
}

// The flag of rows that wait goes up again when the set lost it.
func TestDrainRaisesALostFlag(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{Jobs: 10})
	b.write(b.entries(30)...)
	b.drain(jobs.DrainConfig{})
	b.eventually("the flag is up", func() bool {
		return slices.ContainsFunc(b.flags(), func(f jobs.Flag) bool { return f.Scope == jobs.Scope{Lane: jobs.Fast} })
	})
	b.work(30)
	b.eventually("the flag is down", func() bool { return len(b.flags()) == 0 })
}

// A pending spill keeps the flag up until its rows are there, or its life is over.
func TestDrainWaitsForAPendingSpill(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{Jobs: 2})
	spill := jobs.SpillID{1}
	answers, err := b.hot.Add(t.Context(), jobs.Add{Entries: b.entries(3), Spill: spill})
	if err != nil || answers[2] != jobs.Spilled {
		t.Fatal(answers, err)
	}
	b.work(2)
	d, _ := b.drain(jobs.DrainConfig{Watch: time.Nanosecond})
	for range 3 {
		before := d.Stats().Backlog
		b.eventually("a pass", func() bool { return d.Stats().Backlog != before })
	}
	if len(b.flags()) != 1 {
		t.Fatal("the flag went down under a pending spill")
	}
	if err := b.hot.Settle(t.Context(), []jobs.SpillID{spill}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the flag is down", func() bool { return len(b.flags()) == 0 })
}

// Two drains at once, as after a pause longer than a lease: nothing is lost, and
// what is added twice is one job.
func TestTwoDrainsAtOnce(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{Jobs: 40})
	all := b.entries(600, durably)
	b.write(all...)
	var passes atomic.Int64
	for range 2 {
		// Neither believes the other's lease: it is as good as none.
		b.drain(jobs.DrainConfig{LeaseLife: time.Nanosecond, Chunk: 15, Failpoint: func(string) { passes.Add(1) }})
	}
	got := b.work(600)
	seen := map[jobs.ID]bool{}
	for _, e := range got {
		seen[e.ID] = true
	}
	if len(seen) != 600 {
		t.Errorf("%d of 600 jobs ran", len(seen))
	}
	b.eventually("no row is left", func() bool { left := b.backlog(); return left.Rows()+left.Admitted == 0 })
}

func TestDrainRipensAndDrainsBothLanes(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{Jobs: 20})
	later := b.entry(func(e *jobs.Entry) { e.RunAt = time.Now().Add(50 * time.Millisecond) })
	b.write(later)
	b.write(b.entries(15, slowly)...)
	b.write(b.entries(15)...)
	b.drain(jobs.DrainConfig{})
	count := map[jobs.Lane]int{}
	for _, e := range b.work(31) {
		count[e.Lane]++
	}
	if count[jobs.Slow] != 15 || count[jobs.Fast] != 16 {
		t.Errorf("ran %v", count)
	}
}

func TestDrainWarnsOfLongOverflow(t *testing.T) {
	t.Parallel()
	b := newDrainBench(t, jobs.Limits{Jobs: 4})
	b.write(b.entries(10)...)
	b.drain(jobs.DrainConfig{Watch: time.Millisecond, Late: 20 * time.Millisecond})
	b.eventually("the warning", func() bool {
		return slices.ContainsFunc(b.logged.all(), func(line string) bool {
			return strings.Contains(line, "overflow for long") && strings.Contains(line, "fast_rows=6") && strings.Contains(line, "hot_jobs=4")
		})
	})
}

// logged keeps log lines.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	return nil
}

func (l *logged) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// last are the last n lines.
func (l *logged) last(n int) []string {
	lines := l.all()
	return lines[max(0, len(lines)-n):]
}
