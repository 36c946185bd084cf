package memhot_test

import (
	"testing"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/hottest"
	"github.com/postledger/postledger/jobs/memhot"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	hottest.Run(t, func(tb testing.TB, limits jobs.Limits) func() jobs.Hot {
		set, err := memhot.New(limits)
		if err != nil {
			tb.Fatal(err)
		}
		return func() jobs.Hot { return set }
	})
}

func TestLimitsAreChecked(t *testing.T) {
	t.Parallel()
	if _, err := memhot.New(jobs.Limits{Jobs: 1}); err == nil {
		t.Fatal("made a set for one job")
	}
}
