package jobs_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

const longJobs = 1_000_000

func long(t *testing.T) {
	t.Helper()
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("set POSTLEDGER_LONG=1 for a million jobs")
	}
}

// TestAFleetOutgrowsItsHotSet: four processes enqueue many times what the hot set
// may hold, into the slow lane; two work. The server's memory is bounded, each job
// runs, in its producer's order, and fast jobs do not wait.
func TestAFleetOutgrowsItsHotSet(t *testing.T) {
	t.Parallel()
	outgrow(t, 3_000, 100, jobs.Limits{Jobs: 300}, time.Minute)
}

func TestAFleetOutgrowsItsHotSetLong(t *testing.T) {
	long(t)
	outgrow(t, longJobs, 1_000, jobs.Limits{Jobs: 10_000}, 50*time.Minute)
}

func outgrow(t *testing.T, slow, fast int, limits jobs.Limits, patience time.Duration) {
	const producers, slots, workers = 4, 20, 2
	each := slow / producers
	f := newFleet(t, memberConfig{Mode: jobs.Overflow, Limits: limits, Jobs: each, Batch: 250, Lane: jobs.Slow, Payload: 300, Slots: slots})
	if _, err := f.hot.Depth(context.Background()); err != nil {
		t.Fatal(err)
	}
	before := f.memory()
	f.drainer("")
	var producing []*member
	for p := 1; p <= producers; p++ {
		producing = append(producing, f.producer(p))
	}
	f.await("jobs overflow", patience, before, func() bool {
		backlog, err := f.outbox.Backlog(context.Background())
		return err == nil && backlog.Rows() > 0
	})
	for range workers {
		f.worker()
	}
	// One at a time, while the slow ones drain.
	const quick = producers + 1
	fastProducer := f.start(func(c *memberConfig) { c.Producer, c.Jobs, c.Batch, c.Lane = quick, fast, 1, jobs.Fast })
	grown := f.await("all have run", patience, before, func() bool { return f.ran() == producers*each+fast })
	for _, m := range append(producing, fastProducer) {
		<-m.done
		if m.err != nil {
			t.Errorf("a producer ended: %v", m.err)
		}
	}
	f.empty(patience)
	f.all(producers, each)
	if n := f.again(); n > 0 {
		t.Errorf("%d jobs ran again though nothing died", n)
	}
	worst := 0
	for p := 1; p <= producers; p++ {
		worst = max(worst, f.overtaken(p))
	}
	// A job that was taken may begin after later ones, up to what runs at a time.
	if worst > workers*slots {
		t.Errorf("a job began before %d earlier ones of its producer, at most %d run at a time", worst, workers*slots)
	}
	if grown > 25_000_000 {
		t.Errorf("the server's memory grew by %d bytes, at most 25 MB are allowed", grown)
	}
	p95 := f.p95(quick)
	if p95 > 250*time.Millisecond {
		t.Errorf("95 %% of the fast jobs began within %v, want 250 ms", p95)
	}
	t.Logf("%d slow jobs ran; memory grew by %d bytes; a job began before at most %d earlier ones; p95 of %d fast ones %v", producers*each, grown, worst, fast, p95)
}

// TestAFleetWhoseHandlersFail: every job goes back to its row, and none stays in
// Redis.
func TestAFleetWhoseHandlersFail(t *testing.T) {
	t.Parallel()
	failing(t, 2_000, jobs.Limits{Jobs: 300}, time.Minute)
}

func TestAFleetWhoseHandlersFailLong(t *testing.T) {
	long(t)
	failing(t, longJobs, jobs.Limits{Jobs: 10_000}, 50*time.Minute)
}

func failing(t *testing.T, n int, limits jobs.Limits, patience time.Duration) {
	f := newFleet(t, memberConfig{Mode: jobs.Overflow, Limits: limits, Jobs: n / 2, Batch: 250, Lane: jobs.Slow, Payload: 300, Slots: 50, Failing: true})
	if _, err := f.hot.Depth(context.Background()); err != nil {
		t.Fatal(err)
	}
	before := f.memory()
	f.drainer("")
	f.worker()
	f.worker()
	f.producer(1)
	f.producer(2)
	grown := f.await("every job has failed", patience, before, func() bool { return f.ran() >= n })
	var looked time.Time
	grown = max(grown, f.await("every job is scheduled", patience, before, func() bool {
		if time.Since(looked) < time.Duration(n)*time.Microsecond {
			return false // a look counts them all
		}
		looked = time.Now()
		backlog, err := f.outbox.Backlog(context.Background())
		return err == nil && backlog.Scheduled >= int64(n)
	}))
	f.all(2, n/2)
	if grown > 25_000_000 {
		t.Errorf("the server's memory grew by %d bytes, at most 25 MB are allowed", grown)
	}
	t.Logf("%d jobs failed; memory grew by %d bytes", n, grown)
}

// TestADeadGroupHoldsUpNoOther: one endpoint is dead with a backlog, the other's jobs
// begin soon.
func TestADeadGroupHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	deadGroup(t, 2_000, 50, jobs.Limits{Jobs: 300, GroupShare: 50}, time.Minute)
}

func TestADeadGroupHoldsUpNoOtherLong(t *testing.T) {
	long(t)
	deadGroup(t, longJobs, 1_000, jobs.Limits{Jobs: 10_000}, 50*time.Minute)
}

func deadGroup(t *testing.T, dead, healthy int, limits jobs.Limits, patience time.Duration) {
	f := newFleet(t, memberConfig{Mode: jobs.Overflow, Limits: limits, Jobs: dead, Batch: 500, Lane: jobs.Slow, Payload: 300, Slots: 20, Dead: "a"})
	before := f.memory()
	f.drainer("")
	producer := f.start(func(c *memberConfig) { c.Producer, c.Group = 1, "a" })
	<-producer.done
	f.worker()
	f.worker()
	f.start(func(c *memberConfig) { c.Producer, c.Group, c.Jobs, c.Batch = 2, "b", healthy, 1 })
	grown := f.await("the healthy group's jobs have run", patience, before, func() bool { return f.ran() == healthy })
	if p95 := f.p95(2); p95 > 5*time.Second {
		t.Errorf("95 %% of the healthy group's jobs began within %v, want 5 s", p95)
	} else {
		t.Logf("beside %d jobs of a dead group 95 %% of %d began within %v; memory grew by %d bytes", dead, healthy, p95, grown)
	}
}
