package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// health keeps what is known of an endpoint true: since when nothing succeeds, and
// that it is disabled once that has lasted, or once it says that it is gone. A
// failure to write it shows again at the next try.
func (c *Courier) health(ctx context.Context, e *Endpoint, r *Result, last bool) {
	var err error
	switch r.Verdict {
	case VerdictDelivered:
		if e.FailingSince.IsZero() {
			return
		}
		err = c.Ledger.WebhookWorks(ctx, e.ID)
	case VerdictGone:
		err = c.disable(ctx, e, "it answered 410 Gone")
	default:
		since := e.FailingSince
		if since.IsZero() {
			// An endpoint that fails now and then is not written down each time.
			n, ago := c.circuits.streak(e.ID)
			if n < opensAfter && !last {
				return
			}
			since, err = c.Ledger.WebhookFails(ctx, e.ID, ago)
		}
		if err == nil && !since.IsZero() && time.Since(since) >= c.DisableAfter {
			err = c.disable(ctx, e, fmt.Sprintf("nothing succeeded since %s; last: %s", since.Format(time.RFC3339), summary(r)))
		}
	}
	if err == nil {
		err = c.Book.Load(ctx)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, ledger.ErrWebhookUnknown) {
		c.Log.Warn("a webhook's health could not be written", slog.String("webhook", e.ID.String()), slog.Any("error", err))
	}
}

// disable stops an endpoint by itself. Its app finds the reason there; the operator
// sees the log and the metric.
func (c *Courier) disable(ctx context.Context, e *Endpoint, why string) error {
	disabled := false
	_, err := c.Ledger.ChangeWebhook(ctx, e.ID, postledger.AuditEvent{
		ID: c.Ledger.NewID(), AppID: e.AppID, ActorType: "courier", ActorID: "webhooks",
		Action: "webhook.disable", TargetType: "webhook", TargetID: e.ID.String(), Result: "done",
	}, func(w *ledger.Webhook, now time.Time) (bool, error) {
		// What an operator has changed meanwhile is another endpoint.
		disabled = w.DisabledAt.IsZero() && w.Revision == e.Revision
		if disabled {
			w.DisabledAt, w.DisabledReason = now, shorten(why, ReasonMax)
		}
		return disabled, nil
	})
	if err == nil && disabled {
		c.Observer.WebhookDisabled()
		c.Log.Error("a webhook is disabled", slog.String("webhook", e.ID.String()), slog.String("app", e.AppID.String()), slog.String("why", why))
	}
	return err
}

// ReasonMax bounds why an endpoint is disabled, in bytes.
const ReasonMax = 255

func shorten(text string, most int) string {
	return printable([]byte(text[:min(len(text), most)]))
}
