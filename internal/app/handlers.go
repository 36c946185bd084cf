package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/postledger/postledger/jobs"
)

// handlers are what the jobs of this binary do, by name. A part that brings jobs
// of its own gives a function that registers them, and stands in this list:
// nothing registers itself.
func (a *App) handlers(outbox jobs.Outbox) (*jobs.Registry, error) {
	registry := jobs.NewRegistry()
	for _, register := range []func(*jobs.Registry) error{
		prune{outbox, a.config.Jobs.KeepSetAside, a.log}.register,
		a.registerWebhooks,
	} {
		if err := register(registry); err != nil {
			return nil, fmt.Errorf("make job queue: %w", err)
		}
	}
	return registry, nil
}

// schedules are the jobs that the clock makes. An operator's word on whether one is
// enabled outlives a restart.
func schedules() []jobs.Schedule {
	return []jobs.Schedule{
		{Name: pruneJobs, Spec: "17 3 * * *", Enabled: true, Handler: pruneJobs, Lane: jobs.Slow, MaxAttempts: 5, Timeout: time.Hour},
	}
}

// pruneJobs is the handler that removes jobs which were set aside long ago.
const pruneJobs = "jobs.prune"

type prune struct {
	outbox jobs.Outbox
	keep   time.Duration
	log    *slog.Logger
}

func (p prune) register(r *jobs.Registry) error {
	return jobs.Handle(r, pruneJobs, p.run, jobs.Handling{Lane: jobs.Slow})
}

// run removes a thousand at a time: others have their turn with the database.
func (p prune) run(ctx context.Context, _ []byte) error {
	const most = 1000
	removed := 0
	for {
		n, err := p.outbox.PruneQuarantined(ctx, p.keep, most)
		if err != nil {
			return err
		}
		removed += n
		if n < most {
			break
		}
	}
	if removed > 0 {
		p.log.Info("removed jobs that were set aside", slog.Int("jobs", removed), slog.Duration("longer_than", p.keep))
	}
	return nil
}
