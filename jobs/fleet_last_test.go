package jobs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// keyedProducer is by whose number a test's own jobs are told.
const keyedProducer = 9

// keyed enqueues a version of the work that one dedupe key stands for.
func (f *fleet) keyed(client *jobs.Client, version int) {
	f.Helper()
	_, err := client.Enqueue(context.Background(), jobs.Job{
		Handler: "h", DedupeKey: "k", Payload: fmt.Appendf(nil, "%d %d 1", keyedProducer, version),
	})
	if err != nil {
		f.Fatal(err)
	}
}

// TestTheLastPayloadRuns: a worker between the run and its end, or the drain between
// the hot set and the row, is killed or held up; meanwhile the work is enqueued anew
// under its dedupe key. The last payload runs, and no older one begins after it.
func TestTheLastPayloadRuns(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"worker: ran", "worker: wrote", "drain: added"} {
		for _, mode := range []jobs.Mode{jobs.Always, jobs.Overflow} {
			for _, dies := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %s, dies: %v", at, mode, dies), func(t *testing.T) {
					t.Parallel()
					lastPayload(t, at, mode, dies)
				})
			}
		}
	}
}

func lastPayload(t *testing.T, at string, mode jobs.Mode, dies bool) {
	const patience = time.Minute
	f := newFleet(t, memberConfig{Mode: mode, Limits: jobs.Limits{Jobs: 20}, Slots: 2})
	client, err := jobs.NewClient(f.hot, f.outbox, jobs.ClientOptions{Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	var held *member
	if at == "drain: added" {
		// It waits in its row, as the flag of its lane is up.
		if err := f.hot.Raise(t.Context(), []jobs.Scope{{Lane: jobs.Fast}}); err != nil {
			t.Fatal(err)
		}
		f.keyed(client, 1)
		held = f.start(func(c *memberConfig) { c.Drain, c.HoldAt = true, at })
	} else {
		f.keyed(client, 1)
		held = f.start(func(c *memberConfig) { c.HoldAt = at })
		if mode == jobs.Always {
			f.drainer("") // its row may wait, as one with a key does
		}
	}
	select {
	case <-held.held:
	case <-time.After(patience):
		t.Fatalf("it did not come to %s", at)
	}
	if dies {
		held.kill()
	}
	f.keyed(client, 2)
	if !dies {
		fmt.Fprintln(held.in)
	}
	f.drainer("")
	f.worker()
	ran := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.runs[fmt.Sprint(keyedProducer, " ", 2)] > 0
	}
	f.await("the last payload runs", patience, 0, ran)
	f.empty(patience)
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := f.begun[len(f.begun)-1]; last.number != 2 {
		t.Errorf("version %d began after version 2: %+v", last.number, f.begun)
	}
}
