package api

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/webhook"
)

type webhookAttemptsInput struct {
	Webhook  postledger.ID `path:"webhook" doc:"The webhook."`
	Delivery postledger.ID `query:"delivery" doc:"Only tries to tell of this delivery."`
	After    postledger.ID `query:"after" doc:"The last try of the page before."`
	Limit    int           `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

type webhookAttemptsView struct {
	Items []webhookAttemptView `json:"items"`
	Next  postledger.ID        `json:"next,omitzero" doc:"The after of the next page."`
}

type replayWebhookRequest struct {
	Delivery postledger.ID       `json:"delivery,omitzero" doc:"One delivery, whose event is sent at once; or else a range."`
	Since    time.Time           `json:"since,omitzero" doc:"Deliveries that were accepted from then on."`
	Until    time.Time           `json:"until,omitzero" doc:"Deliveries that were accepted before; default now."`
	States   []postledger.Status `json:"states,omitempty" doc:"Of a range, those that are in these states now; default all that the webhook is told of."`
}

type replayedWebhookView struct {
	EventID  postledger.ID `json:"event_id,omitzero" doc:"The webhook-id of the one event."`
	ReplayID postledger.ID `json:"replay_id,omitzero" doc:"Names the replay of a range in the log."`
}

type testedWebhookView struct {
	Verdict  webhook.Verdict `json:"verdict" enum:"delivered,gone,throttled,refused,unreachable,forbidden"`
	Code     int             `json:"code,omitempty" doc:"The answer's status; missing without an answer."`
	TookMS   int64           `json:"took_ms"`
	Response string          `json:"response,omitempty" doc:"The first KiB of the answer, or why there was none."`
}

func (s *server) webhookSendRoutes(rt func(method, path, id, summary, text string, app postledger.Scope) route) {
	const one = "/v1/webhooks/{webhook}"
	read(s, rt(http.MethodGet, one+"/attempts", "list-webhook-attempts", "List a webhook's tries", "Newest first; they are kept for 30 days.", postledger.ScopeRead), s.listWebhookAttempts)
	replay := rt(http.MethodPost, one+"/replay", "replay-webhook", "Send events again", "Events are made anew from the deliveries as they are now, and have the ids they had: a receiver that has seen one knows it.", postledger.ScopeSend)
	replay.success, replay.codes = http.StatusAccepted, append(replay.codes, codeBadInput, codeDeliveryUnknown, codeNotSettled, codeWebhookDisabled, codeOverloaded)
	write(s, replay, s.replayWebhook)
	test := rt(http.MethodPost, one+"/test", "test-webhook", "Try a webhook", "Sends an event of type webhook.test at once, also to a disabled webhook, and tells what was answered.", postledger.ScopeSend)
	test.codes = append(test.codes, codeSecretsUnreadable)
	read(s, test, s.testWebhook)
}

func (s *server) listWebhookAttempts(ctx context.Context, c *call, in *webhookAttemptsInput) (webhookAttemptsView, error) {
	if _, err := s.webhook(ctx, c, in.Webhook); err != nil {
		return webhookAttemptsView{}, err
	}
	list, err := s.Ledger.WebhookAttempts(ctx, in.Webhook, in.Delivery, in.After, in.Limit)
	v := webhookAttemptsView{Items: viewList(list, viewWebhookAttempt).Items}
	if len(list) == in.Limit {
		v.Next = list[len(list)-1].ID
	}
	return v, err
}

func (s *server) replayWebhook(ctx context.Context, c *call, in *webhookInput, body *replayWebhookRequest) (v replayedWebhookView, err error) {
	if err := c.mayDirect(); err != nil {
		return v, err
	}
	w, err := s.webhook(ctx, c, in.Webhook)
	switch {
	case err != nil:
		return v, err
	case !w.DisabledAt.IsZero():
		return v, problem(codeWebhookDisabled, "")
	case body.Delivery.IsZero() && body.Since.IsZero():
		return v, field("since", accept.RuleRequired, "is missing: name a delivery, or from when on")
	case !body.Delivery.IsZero() && (!body.Since.IsZero() || !body.Until.IsZero() || len(body.States) > 0):
		return v, field("delivery", accept.RuleNotAllowed, "does not go with since, until and states")
	}
	audit := c.audit(s.Ledger.NewID(), "webhook.replay", "webhook", w.ID.String())
	if !body.Delivery.IsZero() {
		if v.EventID, err = s.Webhooks.One(ctx, &w, body.Delivery); err == nil {
			audit.Detail = "delivery=" + body.Delivery.String()
			s.append(ctx, audit)
		}
		return v, err
	}
	r := webhook.Range{Endpoint: w.ID, App: w.AppID, States: w.States, Since: body.Since, Until: body.Until}
	if r.Until.IsZero() {
		r.Until = s.Now()
	}
	if !r.Since.Before(r.Until) {
		return v, field("since", accept.RuleRange, "must be before until")
	}
	if len(body.States) > 0 {
		if r.States, err = checkStates("states", body.States); err != nil {
			return v, err
		}
	}
	if v.ReplayID, err = s.Webhooks.All(ctx, r); err == nil {
		audit.Detail = "replay=" + v.ReplayID.String()
		s.append(ctx, audit)
	}
	return v, err
}

func (s *server) testWebhook(ctx context.Context, c *call, in *webhookInput) (v testedWebhookView, err error) {
	if err := c.mayDirect(); err != nil {
		return v, err
	}
	w, err := s.webhook(ctx, c, in.Webhook)
	if err != nil {
		return v, err
	}
	r, err := s.Webhooks.Test(ctx, &w)
	if err != nil {
		return v, err
	}
	s.append(ctx, c.audit(s.Ledger.NewID(), "webhook.test", "webhook", w.ID.String()))
	return testedWebhookView{r.Verdict, r.Code, r.Took.Milliseconds(), r.Response}, nil
}
