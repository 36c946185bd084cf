package webhook

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/jobs"
)

// ReplayName is the handler of jobs that make the events of a range anew.
const ReplayName = "webhook.replay"

// replayPage is how many deliveries one such job looks at, before the next has its
// turn: others' jobs are not kept waiting by a million.
const replayPage = 500

// Queue takes jobs.
type Queue interface {
	Enqueue(ctx context.Context, job jobs.Job) (jobs.ID, error)
	EnqueueMany(ctx context.Context, list []jobs.Job) ([]jobs.ID, error)
}

// Range chooses deliveries of an endpoint's app whose events are sent again: those
// that were accepted in since <= t < until and are in one of the states now.
type Range struct {
	Endpoint postledger.ID       `json:"endpoint"`
	App      postledger.ID       `json:"app"`
	States   []postledger.Status `json:"states"`
	Since    time.Time           `json:"since,omitzero"`
	Until    time.Time           `json:"until"`
}

// page is a replay that has come as far as a mark.
type page struct {
	Range
	Replay postledger.ID `json:"replay"`
	Number uint64        `json:"number"`
	After  ledger.Mark   `json:"after"`
}

// ErrNotSettled: a delivery is in no state that anybody is told of.
var ErrNotSettled = errors.New("the delivery has not settled yet")

// ErrDeliveryUnknown: the endpoint's app has no such delivery.
var ErrDeliveryUnknown = errors.New("no such delivery")

// Replayer makes events anew from the ledger's rows, which no event's own row
// doubles. An event keeps its id: a receiver that has seen it knows it again.
type Replayer struct {
	Ledger Ledger
	Queue  Queue
	Log    *slog.Logger
}

// One sends the event of the state that a delivery is in, once more and at once,
// also while the event waits for its next try.
func (r *Replayer) One(ctx context.Context, e *ledger.Webhook, delivery postledger.ID) (event postledger.ID, err error) {
	found, err := r.Ledger.DeliveryFactsOf(ctx, []postledger.ID{delivery})
	if err != nil {
		return event, err
	}
	f, ok := found[delivery]
	switch {
	case !ok || f.AppID != e.AppID:
		return event, ErrDeliveryUnknown
	case !f.Status.Settled():
		return event, ErrNotSettled
	}
	job := jobOf(e.ID, &f)
	if _, err := r.Queue.Enqueue(ctx, job.queued(jobs.ID{})); err != nil {
		return event, fmt.Errorf("replay a webhook: %w", err)
	}
	return job.EventID(), nil
}

// All sends the events of a range again. The answer names the replay; its pages are
// jobs, and outlive this process. An event that waits is not made twice.
func (r *Replayer) All(ctx context.Context, w Range) (postledger.ID, error) {
	p := page{Range: w, Replay: r.Ledger.NewID()}
	job, err := p.job()
	if err != nil {
		return postledger.ID{}, err
	}
	if _, err := r.Queue.Enqueue(ctx, job); err != nil {
		return postledger.ID{}, fmt.Errorf("replay webhooks: %w", err)
	}
	return p.Replay, nil
}

// job is the page's. Its id follows from the replay and its number, so that a page
// that runs twice has one successor.
func (p *page) job() (jobs.Job, error) {
	job, err := jobs.New(ReplayName, p)
	if err != nil {
		return job, fmt.Errorf("write replay: %w", err)
	}
	job.ID = jobs.DeriveID(jobs.ID(p.Replay), string(binary.BigEndian.AppendUint64(nil, p.Number)))
	job.Lane = jobs.Slow
	return job, nil
}

// page runs one page. It may run twice: every job that it makes has an id that
// follows from what it is about.
func (r *Replayer) page(ctx context.Context, p page) error {
	s, err := r.Ledger.SelectSettled(ctx, ledger.Filter{App: p.App, Statuses: p.States, Since: p.Since, Until: p.Until}, p.After, replayPage)
	if err != nil {
		return err
	}
	found, err := r.Ledger.DeliveryFactsOf(ctx, s.IDs)
	if err != nil {
		return err
	}
	list := make([]jobs.Job, 0, len(s.IDs)+1)
	for _, id := range s.IDs {
		// What has moved on since it was selected is told of by its own move.
		if f, ok := found[id]; ok && f.AppID == p.App && f.Status.Settled() {
			job := jobOf(p.Endpoint, &f)
			list = append(list, job.queued(jobs.ID(job.EventID())))
		}
	}
	if !s.Done {
		next := p
		next.After, next.Number = s.Next, p.Number+1
		job, err := next.job()
		if err != nil {
			return err
		}
		list = append(list, job)
	}
	if len(list) > 0 {
		if _, err := r.Queue.EnqueueMany(ctx, list); err != nil {
			return fmt.Errorf("replay webhooks: %w", err)
		}
	}
	if s.Done {
		r.Log.Info("a replay of webhooks is queued", slog.String("replay", p.Replay.String()), slog.String("webhook", p.Endpoint.String()))
	}
	return nil
}
