package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/jobs"
)

// Ledger is what sending asks of the ledger.
type Ledger interface {
	NewID() postledger.ID
	DeliveryFactsOf(ctx context.Context, ids []postledger.ID) (map[postledger.ID]ledger.DeliveryFacts, error)
	RecordWebhookAttempts(ctx context.Context, list []ledger.WebhookAttempt) error
	WebhookFails(ctx context.Context, id postledger.ID, ago time.Duration) (time.Time, error)
	WebhookWorks(ctx context.Context, id postledger.ID) error
	ChangeWebhook(ctx context.Context, id postledger.ID, audit postledger.AuditEvent, change func(*ledger.Webhook, time.Time) (bool, error)) (ledger.Webhook, error)
	SelectSettled(ctx context.Context, f ledger.Filter, after ledger.Mark, limit int) (ledger.Selection, error)
}

// Holder keeps a group out of the queue's hot set.
type Holder interface {
	Hold(ctx context.Context, group string, until time.Time) error
}

// Observer is told what comes of events.
type Observer interface {
	// WebhookTried tells of a try.
	WebhookTried(verdict string, took time.Duration)
	// WebhookEnded tells of an event that is not tried again: delivered, exhausted,
	// or dropped.
	WebhookEnded(how string)
	// WebhookDisabled tells of an endpoint that was disabled by itself.
	WebhookDisabled()
}

// How an event ends.
const (
	EndDelivered = "delivered"
	// EndExhausted: its last try failed.
	EndExhausted = "exhausted"
	// EndDropped: its endpoint was disabled or removed, or retention has removed the
	// delivery.
	EndDropped = "dropped"
)

// DisableAfter is how long nothing has succeeded at an endpoint that is disabled by
// itself. The last try of an event comes at least 21.6 hours after its first.
const DisableAfter = 21 * time.Hour

// Config makes a Courier.
type Config struct {
	Ledger   Ledger
	Book     *Book
	Sender   *Sender
	Hold     Holder
	Observer Observer
	// Slots is how many events are sent at a time at most.
	Slots int
	// DisableAfter replaces the constant, for tests.
	DisableAfter time.Duration
	Log          *slog.Logger
}

// Courier sends events: it is the handler of webhook jobs.
type Courier struct {
	Config
	circuits *circuits
	facts    together[postledger.ID, *ledger.DeliveryFacts]
	record   *recorder
	closed   sync.Once
}

const (
	// askMost bounds a batch of the ledger, askTime how long one may take, askLinger
	// how long the first waits for others.
	askMost   = 100
	askTime   = 10 * time.Second
	askLinger = 3 * time.Millisecond
)

// NewCourier makes a courier.
func NewCourier(c Config) *Courier {
	if c.DisableAfter == 0 {
		c.DisableAfter = DisableAfter
	}
	k := &Courier{Config: c, circuits: newCircuits(c.Slots)}
	k.facts.most, k.facts.linger, k.facts.timeout, k.facts.call = askMost, askLinger, askTime, k.readFacts
	k.record = newRecorder(c.Ledger.RecordWebhookAttempts, c.Log)
	return k
}

// Close writes what is left to be recorded; no job may run any more.
func (c *Courier) Close() {
	c.closed.Do(func() {
		c.facts.close()
		c.record.close()
		c.Sender.Close()
	})
}

// Open is how many endpoints are left alone at the moment.
func (c *Courier) Open() int { return c.circuits.open() }

// Handle runs a job: it sends an event, and says when it is to be sent again.
func (c *Courier) Handle(ctx context.Context, job Job) error {
	e, err := c.endpoint(ctx, job.Endpoint)
	if err != nil {
		return err
	}
	if e == nil {
		c.Observer.WebhookEnded(EndDropped)
		return nil
	}
	if e.sealed != nil {
		return jobs.Postpone(someOf(10*time.Minute), "its endpoint's secret cannot be read")
	}
	t, wait, why := c.circuits.enter(ctx, e.ID)
	if why != "" {
		return jobs.Postpone(wait, why)
	}
	left := false
	leave := func(r *Result) {
		if left {
			return
		}
		left = true
		if until := c.circuits.leave(t, r); !until.IsZero() {
			c.hold(ctx, e.ID, until)
		}
	}
	defer leave(nil)
	facts, err := c.facts.do(ctx, job.Delivery)
	if err != nil {
		return err
	}
	if facts == nil || facts.AppID != e.AppID {
		c.Observer.WebhookEnded(EndDropped)
		return nil
	}
	if run, ok := jobs.RunOf(ctx); ok && job.At == 0 {
		job.At = run.EnqueuedAt.UnixMicro()
	}
	event := eventOf(e, &job, facts)
	body, err := event.Body()
	if err != nil {
		return jobs.GiveUp(err)
	}
	at := time.Now()
	result := c.Sender.Send(ctx, Request{URL: e.URL, ID: job.EventID().String(), Secrets: e.secrets(at), Body: body})
	if ctx.Err() != nil && result.Verdict == VerdictUnreachable {
		return context.Cause(ctx) // broken off by us
	}
	leave(&result)
	c.Observer.WebhookTried(string(result.Verdict), result.Took)
	return c.conclude(ctx, e, &job, &result, at)
}

// endpoint is an enabled one, or nil. What this process does not know of may be new.
func (c *Courier) endpoint(ctx context.Context, id postledger.ID) (*Endpoint, error) {
	if e := c.Book.Find(id); e != nil {
		return e, nil
	}
	if err := c.Book.Load(ctx); err != nil {
		return nil, fmt.Errorf("look for the webhook: %w", err)
	}
	return c.Book.Find(id), nil
}

// conclude records a try and decides what follows.
func (c *Courier) conclude(ctx context.Context, e *Endpoint, job *Job, r *Result, at time.Time) error {
	attempt := 1
	if run, ok := jobs.RunOf(ctx); ok {
		attempt = run.Attempt
	}
	row := ledger.WebhookAttempt{
		ID: c.Ledger.NewID(), EndpointID: e.ID, EventID: job.EventID(), DeliveryID: job.Delivery, State: job.State,
		Attempt: attempt, Verdict: string(r.Verdict), Code: r.Code, Took: r.Took, Response: r.Response, At: at,
	}
	var after error
	wait, more := Next(attempt, r.RetryAfter, Random())
	switch {
	case r.Verdict == VerdictDelivered, r.Verdict == VerdictGone:
	case !more:
	default:
		row.RetryAt = at.Add(r.Took + wait)
		after = jobs.RetryIn(wait, errors.New(summary(r)))
	}
	c.record.add(ctx, row)
	c.health(ctx, e, r, after == nil)
	switch {
	case after != nil:
	case r.Verdict == VerdictDelivered:
		c.Observer.WebhookEnded(EndDelivered)
	default:
		c.Observer.WebhookEnded(EndExhausted)
	}
	return after
}

func summary(r *Result) string {
	if r.Code != 0 {
		return fmt.Sprintf("the endpoint answered %d", r.Code)
	}
	return r.Response
}

func (c *Courier) readFacts(ctx context.Context, ids []postledger.ID) ([]*ledger.DeliveryFacts, error) {
	found, err := c.Ledger.DeliveryFactsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]*ledger.DeliveryFacts, len(ids))
	for i, id := range ids {
		if f, ok := found[id]; ok {
			out[i] = &f
		}
	}
	return out, nil
}

// hold keeps the endpoint's jobs out of the hot set while its circuit is open. It
// is best effort: one that comes in is put off by the circuit.
func (c *Courier) hold(ctx context.Context, id postledger.ID, until time.Time) {
	if err := c.Hold.Hold(ctx, id.String(), until); err != nil && ctx.Err() == nil {
		c.Log.Warn("a webhook's jobs could not be held back", slog.String("webhook", id.String()), slog.Any("error", err))
	}
}
