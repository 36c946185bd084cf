package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/postledger/postledger"
)

// Webhook is an endpoint that an app is told of its deliveries at.
type Webhook struct {
	ID    postledger.ID `json:"id"`
	AppID postledger.ID `json:"app_id"`
	// Revision grows with every change; a change names the one it was made of.
	Revision    int64               `json:"revision"`
	URL         string              `json:"url"`
	Description string              `json:"description"`
	States      []postledger.Status `json:"states"`
	// IncludeAddress: events hold the recipient's address and the next hop's reply.
	IncludeAddress bool      `json:"include_address"`
	Enabled        bool      `json:"enabled"`
	DisabledAt     time.Time `json:"disabled_at"`
	DisabledReason string    `json:"disabled_reason"`
	// FailingSince: no try has succeeded since.
	FailingSince time.Time `json:"failing_since"`
	// PreviousSecretUntil: until then the secret before the last rotation signs too.
	PreviousSecretUntil time.Time `json:"previous_secret_until"`
	CreatedAt           time.Time `json:"created_at"`
	UpdatedAt           time.Time `json:"updated_at"`
	// Secret signs; it is shown by the call that made it, and never again.
	Secret string `json:"secret"`
}

// NewWebhook is what a webhook is made of.
type NewWebhook struct {
	// App is needed from operators; an app's key leaves it zero.
	App         postledger.ID       `json:"app,omitzero"`
	URL         string              `json:"url"`
	Description string              `json:"description,omitempty"`
	States      []postledger.Status `json:"states"`
	// IncludeAddress puts the recipient's address and the next hop's reply into
	// events.
	IncludeAddress bool `json:"include_address,omitempty"`
}

// WebhookChange is what a webhook becomes: what is left out is emptied.
type WebhookChange struct {
	Revision       int64               `json:"revision"`
	URL            string              `json:"url"`
	Description    string              `json:"description,omitempty"`
	States         []postledger.Status `json:"states"`
	IncludeAddress bool                `json:"include_address,omitempty"`
}

// WebhookAttempt is one try to send one event.
type WebhookAttempt struct {
	ID postledger.ID `json:"id"`
	// EventID is the request's webhook-id: the same for all tries of an event.
	EventID postledger.ID `json:"event_id"`
	// DeliveryID is zero for a test.
	DeliveryID postledger.ID     `json:"delivery_id"`
	State      postledger.Status `json:"state"`
	Attempt    int               `json:"attempt"`
	// Verdict is delivered, gone, throttled, refused, unreachable or forbidden.
	Verdict string `json:"verdict"`
	// Code is the answer's status, 0 without one.
	Code   int   `json:"code"`
	TookMS int64 `json:"took_ms"`
	// RetryAt is zero when it is not tried again.
	RetryAt  time.Time `json:"retry_at"`
	Response string    `json:"response"`
	At       time.Time `json:"at"`
}

// WebhookRange chooses the deliveries whose events are sent again.
type WebhookRange struct {
	// Since and Until bound when they were accepted; a zero Until is now.
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"`
	// States are those they are in now; none means all that the webhook is told of.
	States []postledger.Status `json:"states,omitempty"`
}

// ReplayedWebhook says what was queued: one event, or a replay of a range.
type ReplayedWebhook struct {
	EventID  postledger.ID `json:"event_id"`
	ReplayID postledger.ID `json:"replay_id"`
}

// WebhookTest is what an endpoint answered.
type WebhookTest struct {
	Verdict  string `json:"verdict"`
	Code     int    `json:"code"`
	TookMS   int64  `json:"took_ms"`
	Response string `json:"response"`
}

const webhooksPath = "/v1/webhooks"

// Webhooks lists an app's webhooks, or for an operator who gives the zero id all
// apps', oldest first. Errors: ErrAppUnknown; scope read, or admin for operators.
func (c *Client) Webhooks(ctx context.Context, app postledger.ID) ([]Webhook, error) {
	cl := get("list webhooks", webhooksPath)
	p := parameters{}
	p.id("app", app)
	cl.query = url.Values(p)
	return all[Webhook](ctx, c, cl)
}

// Webhook reads one. Errors: ErrWebhookUnknown; scope read, or admin for operators.
func (c *Client) Webhook(ctx context.Context, id postledger.ID) (*Webhook, error) {
	return ask[Webhook](ctx, c, get("read webhook", at(webhooksPath, id.String())))
}

// CreateWebhook makes one; the answer holds its secret. It is not repeated by itself
// when its answer is lost: nobody would know the first one's secret. Errors:
// ErrBadInput, ErrAppUnknown, ErrAppRemoved, ErrWebhooksTooMany; scopes send and
// read, or admin for operators. So have all calls below, unless they say otherwise.
func (c *Client) CreateWebhook(ctx context.Context, w NewWebhook) (*Webhook, error) {
	return ask[Webhook](ctx, c, &call{op: "create webhook", method: http.MethodPost, path: webhooksPath, in: &w})
}

// ChangeWebhook changes all of one. When its URL names another host, it gets another
// secret, which the answer holds. Errors: ErrBadInput, ErrWebhookUnknown,
// ErrRevisionConflict.
func (c *Client) ChangeWebhook(ctx context.Context, id postledger.ID, w WebhookChange) (*Webhook, error) {
	return ask[Webhook](ctx, c, &call{op: "change webhook", method: http.MethodPut, path: at(webhooksPath, id.String()), in: &w})
}

// RemoveWebhook removes one; what waits for it is dropped. It is not repeated by
// itself when its answer is lost. Errors: ErrWebhookUnknown.
func (c *Client) RemoveWebhook(ctx context.Context, id postledger.ID) error {
	return c.do(ctx, &call{op: "remove webhook", method: http.MethodDelete, path: at(webhooksPath, id.String())})
}

// RotateWebhook makes another secret, which the answer holds. The one of now signs
// beside it for the overlap, at most 7 days. It is not repeated by itself when its
// answer is lost. Errors: ErrBadInput, ErrWebhookUnknown.
func (c *Client) RotateWebhook(ctx context.Context, id postledger.ID, overlap time.Duration) (*Webhook, error) {
	in := struct {
		OverlapSeconds int64 `json:"overlap_seconds"`
	}{int64(overlap / time.Second)}
	return ask[Webhook](ctx, c, &call{op: "rotate webhook", method: http.MethodPost, path: at(webhooksPath, id.String()) + "/rotate", in: in})
}

// EnableWebhook ends that it is told nothing. What settled meanwhile is not told by
// itself: ReplayWebhook does that. Errors: ErrWebhookUnknown.
func (c *Client) EnableWebhook(ctx context.Context, id postledger.ID) (*Webhook, error) {
	return ask[Webhook](ctx, c, &call{op: "enable webhook", method: http.MethodPost, path: at(webhooksPath, id.String()) + "/enable", repeatable: true})
}

// DisableWebhook stops telling it anything. Errors: ErrBadInput, ErrWebhookUnknown.
func (c *Client) DisableWebhook(ctx context.Context, id postledger.ID, reason string) (*Webhook, error) {
	in := struct {
		Reason string `json:"reason"`
	}{reason}
	return ask[Webhook](ctx, c, &call{op: "disable webhook", method: http.MethodPost, path: at(webhooksPath, id.String()) + "/disable", repeatable: true, in: in})
}

// WebhookAttempts lists its tries, newest first, of one delivery unless that is zero.
// They are kept for 30 days. Errors: ErrWebhookUnknown; scope read, or admin for
// operators.
func (c *Client) WebhookAttempts(ctx context.Context, id, delivery postledger.ID) iter.Seq2[WebhookAttempt, error] {
	p := parameters{}
	p.id("delivery", delivery)
	p.size(maxPage)
	return pagesBy[WebhookAttempt](ctx, c, "after", "list webhook attempts", at(webhooksPath, id.String())+"/attempts", url.Values(p))
}

// ReplayWebhookDelivery sends the event of the state that a delivery is in, once
// more and at once. Errors: ErrWebhookUnknown, ErrWebhookDisabled,
// ErrDeliveryUnknown, ErrNotSettled.
func (c *Client) ReplayWebhookDelivery(ctx context.Context, id, delivery postledger.ID) (*ReplayedWebhook, error) {
	in := struct {
		Delivery postledger.ID `json:"delivery"`
	}{delivery}
	return ask[ReplayedWebhook](ctx, c, &call{op: "replay webhook", method: http.MethodPost, path: at(webhooksPath, id.String()) + "/replay", in: in})
}

// ReplayWebhook sends the events of a range again. They have the ids they had.
// Errors: ErrBadInput, ErrWebhookUnknown, ErrWebhookDisabled, ErrOverloaded.
func (c *Client) ReplayWebhook(ctx context.Context, id postledger.ID, r WebhookRange) (*ReplayedWebhook, error) {
	return ask[ReplayedWebhook](ctx, c, &call{op: "replay webhook", method: http.MethodPost, path: at(webhooksPath, id.String()) + "/replay", in: &r})
}

// TestWebhook sends an event of type webhook.test at once, also to one that is
// disabled, and tells what was answered. Errors: ErrWebhookUnknown,
// ErrSecretsUnreadable.
func (c *Client) TestWebhook(ctx context.Context, id postledger.ID) (*WebhookTest, error) {
	return ask[WebhookTest](ctx, c, &call{op: "test webhook", method: http.MethodPost, path: at(webhooksPath, id.String()) + "/test"})
}
