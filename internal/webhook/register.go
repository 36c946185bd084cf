package webhook

import (
	"context"
	"time"

	"github.com/postledger/postledger/jobs"
)

// runTime bounds a run: the wait for a place, the ledger, a try, and its record.
const runTime = 2 * time.Minute

// Register makes a registry know what webhook jobs do.
func Register(r *jobs.Registry, c *Courier, replays *Replayer) error {
	if err := jobs.Handle(r, HandlerName, c.Handle, jobs.Handling{Lane: jobs.Slow, MaxAttempts: len(Schedule), Timeout: runTime}); err != nil {
		return err
	}
	return jobs.Handle(r, ReplayName, func(ctx context.Context, p page) error { return replays.page(ctx, p) },
		jobs.Handling{Lane: jobs.Slow, Timeout: runTime})
}
