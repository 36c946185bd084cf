package jobs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger/jobs"
)

// A backlog of slow jobs that take no time is worked off in no time, though all
// slow slots are in use again and again: a slot that becomes free is used at once.
func TestAFreedSlowSlotIsUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hot, r, seen := memory(t, jobs.Limits{}), jobs.NewRegistry(), newLog()
		handle(t, r, "slow", jobs.Handling{Lane: jobs.Slow}, func(context.Context, []byte) error { seen.add("slow"); return nil })
		list := make([]jobs.Job, 200)
		for i := range list {
			list[i].Handler = "slow"
		}
		enqueue(t, direct(t, hot, r), list...)
		began := time.Now()
		stop := work(t, hot, nil, r, jobs.WorkerOptions{Slots: 4})
		seen.await(t, len(list))
		if took := time.Since(began); took > 0 {
			t.Errorf("200 jobs of no length took %v", took)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		_ = hot.Close()
	})
}
