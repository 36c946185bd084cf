package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

type jobsCmd struct {
	Status     jobsStatusCmd     `cmd:"" help:"Show how background work is."`
	Ls         jobsLsCmd         `cmd:"" help:"List jobs, in the order in which they come to run. One that has finished is gone."`
	Show       jobsShowCmd       `cmd:"" help:"Show a job. Its payload is not shown."`
	Retry      jobsRetryCmd      `cmd:"" help:"Try jobs now that are due later or were set aside."`
	Quarantine jobsQuarantineCmd `cmd:"" help:"Set jobs aside: they do not run until they are released."`
	Release    jobsReleaseCmd    `cmd:"" help:"Take jobs back that were set aside."`
	Schedules  schedulesCmd      `cmd:"" help:"Show and change what makes jobs by the clock."`
}

type jobsStatusCmd struct{ remote }

func (c *jobsStatusCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	q, err := cl.JobQueue(e.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, q)
	}
	row := func(name string, l *client.JobLane) []string {
		hot := "?"
		if q.Reached {
			hot = fmt.Sprint(l.Hot)
		}
		return []string{name, fmt.Sprint(l.Waiting), fmt.Sprintf("%.0fs", l.OldestSeconds), hot}
	}
	if err := table(e.stdout, "LANE WAITING OLDEST HOT", [][]string{row("fast", &q.Fast), row("slow", &q.Slow)}); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s: %d run, %d are for later, %d are set aside\n", q.Driver, q.Active, q.Scheduled, q.Quarantined)
	if q.Fault != "" {
		fmt.Fprintf(e.stdout, "what is hot cannot be reached: %s\n", printable(q.Fault))
	}
	return nil
}

// jobFilter chooses jobs.
type jobFilter struct {
	Handler string `help:"What they do." placeholder:"NAME"`
	Group   string `help:"Whose work they are." placeholder:"NAME"`
	Lane    string `help:"fast or slow." enum:",fast,slow" default:"" placeholder:"LANE"`
}

type jobsLsCmd struct {
	remote
	jobFilter
	limit
	State string `help:"buffered (they wait), admitted (where workers get at them) or quarantined (set aside)." enum:",buffered,admitted,quarantined" default:"" placeholder:"STATE"`
}

func (c *jobsLsCmd) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	items, err := take(e, &c.limit, cl.Jobs(e.ctx, client.JobFilter{
		State: c.State, Lane: c.Lane, Handler: c.Handler, Group: c.Group, PageSize: c.page(),
	}))
	if err != nil {
		return err
	}
	return list(e, c.JSON, items, "ID HANDLER GROUP STATE LANE ATTEMPTS DUE REASON", func(j *client.Job) []string {
		return []string{j.ID.String(), j.Handler, dash(j.Group), j.State, j.Lane, fmt.Sprintf("%d/%d", j.Attempts, j.MaxAttempts), moment(j.RunAt), dash(j.Reason)}
	})
}

type jobsShowCmd struct {
	remote
	ID string `arg:"" help:"The job's id."`
}

func (c *jobsShowCmd) Run(e *env) error {
	id, err := postledger.ParseID(c.ID)
	if err != nil {
		return usage("ID: %w", err)
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	j, err := cl.Job(e.ctx, id)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.stdout, j)
	}
	return table(e.stdout, "WHAT IS", [][]string{
		{"id", j.ID.String()},
		{"handler", j.Handler},
		{"group", dash(j.Group)},
		{"state", j.State},
		{"since", moment(j.ChangedAt)},
		{"lane", j.Lane},
		{"kind", j.Kind},
		{"attempts", fmt.Sprintf("%d of %d", j.Attempts, j.MaxAttempts)},
		{"enqueued", moment(j.EnqueuedAt)},
		{"due", moment(j.RunAt)},
		{"payload", fmt.Sprintf("%d bytes", j.PayloadBytes)},
		{"reason", dash(j.Reason)},
	})
}

// jobChoice are jobs by id, or all that a filter chooses of those set aside.
type jobChoice struct {
	remote
	jobFilter
	IDs []string `arg:"" optional:"" name:"id" help:"The jobs' ids."`
	All bool     `help:"All that were set aside, or those that --handler, --group and --lane choose of them."`
}

// decide carries a decision out, a thousand jobs at a time.
func (c *jobChoice) decide(e *env, what string, decide func(context.Context, *client.Client, []postledger.ID) (*client.ChangedJobs, error)) error {
	ids := make([]postledger.ID, len(c.IDs))
	for i, text := range c.IDs {
		var err error
		if ids[i], err = postledger.ParseID(text); err != nil {
			return usage("ID %s: %w", text, err)
		}
	}
	filtered := c.jobFilter != jobFilter{}
	switch {
	case len(ids) > 0 && (c.All || filtered):
		return usage("give ids, or --all with a filter, not both")
	case len(ids) == 0 && !c.All:
		return usage("give ids, or --all")
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	if c.All {
		for j, err := range cl.Jobs(e.ctx, client.JobFilter{State: "quarantined", Handler: c.Handler, Group: c.Group, Lane: c.Lane, PageSize: jobsAtOnce}) {
			if err != nil {
				return err
			}
			ids = append(ids, j.ID)
		}
	}
	var sum client.ChangedJobs
	for part := range slices.Chunk(ids, jobsAtOnce) {
		n, err := decide(e.ctx, cl, part)
		if err != nil {
			return fmt.Errorf("after %d jobs: %w", sum.Changed, err)
		}
		sum.Changed += n.Changed
		sum.Unchanged += n.Unchanged
	}
	return c.done(e, sum, "%s: %d, unchanged: %d", what, sum.Changed, sum.Unchanged)
}

// jobsAtOnce is how many ids one request may name.
const jobsAtOnce = 1000

type jobsRetryCmd struct{ jobChoice }

func (c *jobsRetryCmd) Run(e *env) error {
	return c.decide(e, "due now", func(ctx context.Context, cl *client.Client, ids []postledger.ID) (*client.ChangedJobs, error) {
		return cl.RetryJobs(ctx, ids...)
	})
}

type jobsReleaseCmd struct{ jobChoice }

func (c *jobsReleaseCmd) Run(e *env) error {
	return c.decide(e, "released", func(ctx context.Context, cl *client.Client, ids []postledger.ID) (*client.ChangedJobs, error) {
		return cl.ReleaseJobs(ctx, ids...)
	})
}

type jobsQuarantineCmd struct {
	remote
	IDs    []string `arg:"" name:"id" help:"The jobs' ids."`
	Reason string   `help:"Why, for people." required:""`
}

func (c *jobsQuarantineCmd) Run(e *env) error {
	choice := jobChoice{remote: c.remote, IDs: c.IDs}
	return choice.decide(e, "set aside", func(ctx context.Context, cl *client.Client, ids []postledger.ID) (*client.ChangedJobs, error) {
		return cl.QuarantineJobs(ctx, c.Reason, ids...)
	})
}
