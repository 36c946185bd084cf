package jobs_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/redishot"
)

// handing is a program that writes rows by statements of its own.
type handing struct {
	*drainBench
	*jobs.Handover
	wake chan struct{} // the drain was woken
}

// onEach runs a test with a hot set in memory and with one in Redis.
func onEach(t *testing.T, limits jobs.Limits, test func(t *testing.T, b *drainBench)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, newDrainBench(t, limits))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		b := newDrainBench(t, limits)
		url, prefix := testserver.Redis(t)
		options, err := redis.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(options)
		t.Cleanup(func() { client.Close() })
		if b.hot, err = redishot.New(client, prefix, limits); err != nil {
			t.Fatal(err)
		}
		test(t, b)
	})
}

// handOver runs a handover until the test ends or stop is called, and waits until it
// knows the set.
func (b *drainBench) handOver(failpoint func(string)) (h *handing, stop func()) {
	b.Helper()
	h = &handing{drainBench: b, wake: make(chan struct{}, 1)}
	client := clientOf(b.T, b.hot, b.outbox, jobs.ClientOptions{HotPause: 10 * time.Millisecond, Wake: func() {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}})
	h.Handover = jobs.NewHandover(client, failpoint)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	b.Cleanup(stop)
	b.eventually("the set is known", func() bool { return h.Epoch(jobs.Scope{Lane: jobs.Fast, Group: "nobody"}) != "" })
	return h, stop
}

// commit writes rows as its owner does, and tells how many were written as admitted.
func (h *handing) commit(entries ...jobs.Entry) (admitted int) {
	h.Helper()
	rows := make([]jobs.Insertion, len(entries))
	for i := range entries {
		entries[i].Durable = true
		rows[i] = jobs.Insertion{Entry: entries[i], Epoch: h.Epoch(entries[i].Scope())}
		if rows[i].Epoch != "" {
			admitted++
		}
	}
	if _, err := h.outbox.Insert(context.Background(), rows); err != nil {
		h.Fatal(err)
	}
	h.Wrote(rows)
	return admitted
}

func (b *drainBench) hotJobs() int {
	b.Helper()
	depth, err := b.hot.Depth(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return depth.Jobs
}

// What commits is hot at once, and no drain has to see it.
func TestHandoverAddsWhatCommits(t *testing.T) {
	t.Parallel()
	onEach(t, jobs.Limits{}, func(t *testing.T, b *drainBench) {
		h, _ := b.handOver(nil)
		var all []jobs.Entry
		for range 5 {
			part := append(b.entries(10, slowly, groupOf("a")), b.entries(3, slowly)...)
			if n := h.commit(part...); n != len(part) {
				t.Fatalf("%d of %d rows are admitted", n, len(part))
			}
			all = append(all, part...)
		}
		wantOrder(t, b.work(len(all)), all)
		if backlog := b.backlog(); backlog.Admitted != 0 || backlog.Rows() != 0 || len(h.wake) != 0 {
			t.Errorf("left are %+v, and the drain was woken %d times", backlog, len(h.wake))
		}
	})
}

// What has no room waits for the drain, and all that is written after it in its scope
// waits behind it, until the drain has seen them all.
func TestHandoverKeepsTheOrderOfOverflow(t *testing.T) {
	t.Parallel()
	onEach(t, jobs.Limits{GroupShare: 15}, func(t *testing.T, b *drainBench) {
		h, _ := b.handOver(nil)
		var all []jobs.Entry
		commit := func(n int) (admitted int) {
			part := b.entries(n, slowly, groupOf("a"))
			all = append(all, part...)
			return h.commit(part...)
		}
		if n := commit(20); n != 20 {
			t.Fatalf("%d are admitted before anything overflows", n)
		}
		b.eventually("five wait in their rows", func() bool { return b.backlog().Buffered[jobs.Slow] == 5 })
		<-h.wake
		b.eventually("the overflow is known", func() bool { return h.Epoch(all[0].Scope()) == "" })
		if n := commit(10); n != 0 {
			t.Fatalf("%d would overtake those that wait", n)
		}
		others := b.entries(3, groupOf("b"))
		if n := h.commit(others...); n != 3 {
			t.Errorf("another group: %d of 3 are admitted", n)
		}
		b.eventually("they are hot", func() bool { return b.hotJobs() == 18 })
		wantOrder(t, b.work(3), others)
		// The set has room again, and the rows have not been seen yet.
		done := b.work(10)
		commit(1)
		b.drain(jobs.DrainConfig{})
		done = append(done, b.work(len(all)-10)...)
		wantOrder(t, done, all)
		b.eventually("the overflow is over", func() bool { return h.Epoch(all[0].Scope()) != "" })
		if n := commit(4); n != 4 {
			t.Errorf("after the overflow %d of 4 are admitted", n)
		}
		wantOrder(t, b.work(4), all[len(all)-4:])
		b.eventually("no row is left", func() bool { left := b.backlog(); return left.Rows()+left.Admitted == 0 })
	})
}

// Rows of a group that is held, such as one whose far end is down, wait.
func TestHandoverLeavesAHeldGroupOut(t *testing.T) {
	t.Parallel()
	onEach(t, jobs.Limits{}, func(t *testing.T, b *drainBench) {
		h, _ := b.handOver(nil)
		if err := b.hot.Hold(t.Context(), "down", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		b.drain(jobs.DrainConfig{})
		down, up := b.entries(5, groupOf("down")), b.entries(5, groupOf("up"))
		h.commit(append(down[:5:5], up...)...)
		wantOrder(t, b.work(5), up)
		b.eventually("they wait", func() bool { return b.backlog().Buffered[jobs.Fast] == 5 && b.hotJobs() == 0 })
		if n := h.commit(b.entry(groupOf("down"))); n != 0 {
			t.Error("a row of it is admitted")
		}
		if err := b.hot.Hold(t.Context(), "down", time.Time{}); err != nil {
			t.Fatal(err)
		}
		wantOrder(t, b.work(6)[:5], down)
	})
}

// The process dies between the commit and the Add: a drain finds what it left, whether
// the set died with it or lives on.
func TestHandoverDiesBeforeTheAdd(t *testing.T) {
	t.Parallel()
	onEach(t, jobs.Limits{}, func(t *testing.T, b *drainBench) {
		for _, setDies := range []bool{false, true} {
			died := make(chan struct{})
			h, _ := b.handOver(func(name string) {
				if name == "handover: committed" {
					close(died)
					runtime.Goexit()
				}
			})
			lost := b.entries(20, slowly, groupOf("a"))
			if n := h.commit(lost...); n != 20 {
				t.Fatal(n)
			}
			<-died
			if n := b.hotJobs(); n != 0 {
				t.Fatalf("%d are hot", n)
			}
			late := time.Hour
			if setDies {
				b.restartHot(jobs.Limits{})
			} else {
				late = time.Millisecond
			}
			_, stop := b.drain(jobs.DrainConfig{LostAge: late, Sweep: late})
			wantOrder(t, b.work(20), lost)
			stop()
			if left := b.backlog(); left.Rows()+left.Admitted != 0 {
				t.Fatalf("left are %+v", left)
			}
		}
	})
}

// While the set cannot be reached rows wait, and they are not overtaken when it is
// back; when only the answer is lost they are one job all the same.
func TestHandoverOutlivesTheHotSet(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]*faulty{"unreachable": {before: true}, "its answer is lost": {after: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newDrainBench(t, jobs.Limits{})
			way := &switched{Hot: b.hot, cut: cut}
			inner := b.hot
			b.hot = way
			h, _ := b.handOver(nil)
			way.set(true)
			all := b.entries(30, groupOf("a"))
			h.commit(all[:10]...) // which finds out
			b.eventually("they wait", func() bool { return b.backlog().Buffered[jobs.Fast] == 10 })
			if cut.before { // their rows say so a moment before
				b.eventually("the set is known to be away", func() bool { return h.Epoch(all[0].Scope()) == "" })
			}
			if n := h.commit(all[10:20]...); n != 0 && cut.before {
				t.Errorf("%d are admitted into what cannot be reached", n)
			}
			way.set(false)
			b.eventually("the set is known again", func() bool { return h.Epoch(jobs.Scope{Lane: jobs.Slow}) != "" })
			h.commit(all[20:]...)
			b.hot = inner
			b.drain(jobs.DrainConfig{})
			b.eventually("all are hot", func() bool { return b.backlog().Admitted == 30 && b.hotJobs() == 30 })
			wantOrder(t, b.work(30), all)
			b.eventually("no row is left", func() bool { left := b.backlog(); return left.Rows()+left.Admitted == 0 })
		})
	}
}

// Rows of which it is not known whether they were committed, or that were there.
func TestHandoverIsUnsure(t *testing.T) {
	t.Parallel()
	onEach(t, jobs.Limits{}, func(t *testing.T, b *drainBench) {
		h, stop := b.handOver(nil)
		epoch := h.Epoch(jobs.Scope{Lane: jobs.Fast})
		lost, running, never := b.entry(durably), b.entry(durably), b.entry(durably)
		if _, err := b.outbox.Insert(t.Context(), []jobs.Insertion{{Entry: lost, Epoch: epoch}, {Entry: running, Epoch: epoch}}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.hot.Add(t.Context(), jobs.Add{Entries: []jobs.Entry{running}}); err != nil {
			t.Fatal(err)
		}
		h.Unsure([]jobs.Ref{lost.Ref(), running.Ref(), never.Ref()})
		<-h.wake
		b.drain(jobs.DrainConfig{})
		wantOrder(t, b.work(2), []jobs.Entry{running, lost})
		b.eventually("each ran once", func() bool { return b.hotJobs() == 0 && b.backlog().Admitted+b.backlog().Rows() == 0 })
		stop()
		if e := h.Epoch(jobs.Scope{Lane: jobs.Fast}); e != "" {
			t.Errorf("after its end the epoch is %q", e)
		}
	})
}

// What was handed over before the end is added, however many.
func TestHandoverEndsInOrder(t *testing.T) {
	t.Parallel()
	onEach(t, jobs.Limits{}, func(t *testing.T, b *drainBench) {
		var once sync.Once
		began, goOn := make(chan struct{}), make(chan struct{})
		h, stop := b.handOver(func(string) {
			once.Do(func() {
				close(began)
				<-goOn
			})
		})
		first, rest := b.entries(3), b.entries(2500)
		h.commit(first...)
		<-began
		admitted := 0
		for len(rest) > 0 {
			n := h.commit(rest[:250:250]...)
			if admitted += n; n != 250 && n != 0 {
				t.Fatal(fmt.Sprint(n, " of a part are admitted"))
			}
			rest = rest[250:]
		}
		// The bound: what comes then is written for the drain.
		if admitted != 2000 || h.Epoch(jobs.Scope{Lane: jobs.Fast}) != "" {
			t.Fatalf("%d wait to be added", admitted)
		}
		close(goOn)
		stop()
		if n := b.hotJobs(); n != 2003 {
			t.Errorf("%d of %d are hot", n, 2003)
		}
		if left := b.backlog(); left.Buffered[jobs.Fast] != 500 {
			t.Errorf("left are %+v", left)
		}
	})
}

// switched is a hot set that fails on command.
type switched struct {
	jobs.Hot
	mu  sync.Mutex
	cut *faulty
	on  bool
}

func (s *switched) set(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = on
}

func (s *switched) now() jobs.Hot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on {
		return &faulty{Hot: s.Hot, before: s.cut.before, after: s.cut.after}
	}
	return s.Hot
}

func (s *switched) Add(ctx context.Context, add jobs.Add) ([]jobs.Admission, error) {
	return s.now().Add(ctx, add)
}

func (s *switched) Epoch(ctx context.Context) (string, error) { return s.now().Epoch(ctx) }
