package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Desk is where endpoints are administered.
type Desk struct {
	Guard   *Guard
	Sealer  *Sealer
	Book    *Book
	Courier *Courier
	*Replayer
}

// CheckURL is the guard's.
func (d *Desk) CheckURL(text string) (string, error) { return d.Guard.CheckURL(text) }

// NewSecret makes an endpoint's secret: sealed for its row, and as its owner is shown
// it once.
func (d *Desk) NewSecret(endpoint postledger.ID, url string) (sealed []byte, shown string, err error) {
	made := NewSecret()
	if sealed, err = d.Sealer.Seal(made, endpoint, url); err != nil {
		return nil, "", err
	}
	return sealed, made.Reveal(), nil
}

// Changed makes this process see a change at once; others see it within Refresh.
func (d *Desk) Changed(ctx context.Context) {
	if err := d.Book.Load(ctx); err != nil {
		d.Log.Warn("whether webhooks have changed is not known", slog.Any("error", err))
	}
}

// TestType is the type of a test's event.
const TestType = "webhook.test"

// Test sends an endpoint an event that is about nothing, also to one that is
// disabled, and tells what it answered. The try is recorded like others, and says
// nothing about the endpoint's health.
func (d *Desk) Test(ctx context.Context, w *ledger.Webhook) (Result, error) {
	e := d.Book.open(w)
	if e.sealed != nil {
		return Result{}, e.sealed
	}
	at := time.Now()
	body, err := json.Marshal(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      any       `json:"data"`
	}{TestType, at.UTC(), map[string]any{"webhook_id": w.ID, "app_id": w.AppID}})
	if err != nil {
		return Result{}, fmt.Errorf("write test event: %w", err)
	}
	id := d.Ledger.NewID()
	r := d.Courier.Sender.Send(ctx, Request{URL: w.URL, ID: id.String(), Secrets: e.secrets(at), Body: body})
	return r, d.Ledger.RecordWebhookAttempts(ctx, []ledger.WebhookAttempt{{
		ID: d.Ledger.NewID(), EndpointID: w.ID, EventID: id, Attempt: 1,
		Verdict: string(r.Verdict), Code: r.Code, Took: r.Took, Response: r.Response, At: at,
	}})
}
