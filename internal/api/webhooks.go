package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/webhook"
)

type webhookInput struct {
	Webhook postledger.ID `path:"webhook" doc:"The webhook."`
}

type listWebhooksInput struct {
	App postledger.ID `query:"app" doc:"The app whose webhooks are listed; all apps' for an operator who names none."`
}

// webhookTerms are what an owner decides about an endpoint.
type webhookTerms struct {
	url, description string
	states           []postledger.Status
	includeAddress   bool
}

type createWebhookRequest struct {
	App            postledger.ID       `json:"app,omitzero" doc:"The app; for operators, who must name it."`
	URL            string              `json:"url" doc:"https:// or http://, on port 443 or 80 unless the operator allows more. Redirects are not followed." example:"https://hooks.shop.example/mail"`
	Description    string              `json:"description,omitempty" doc:"For people."`
	States         []postledger.Status `json:"states" doc:"What it is told of: sent, unconfirmed, failed, suppressed, canceled."`
	IncludeAddress bool                `json:"include_address,omitempty" doc:"Put the recipient's address and the next hop's reply into events."`
}

func (r *createWebhookRequest) terms() *webhookTerms {
	return &webhookTerms{r.URL, r.Description, r.States, r.IncludeAddress}
}

type changeWebhookRequest struct {
	Revision       int64               `json:"revision" doc:"The revision that the change was made of."`
	URL            string              `json:"url" doc:"As for a new one. One with another host gets another secret."`
	Description    string              `json:"description,omitempty" doc:"For people."`
	States         []postledger.Status `json:"states" doc:"What it is told of: sent, unconfirmed, failed, suppressed, canceled."`
	IncludeAddress bool                `json:"include_address,omitempty" doc:"Put the recipient's address and the next hop's reply into events."`
}

func (r *changeWebhookRequest) terms() *webhookTerms {
	return &webhookTerms{r.URL, r.Description, r.States, r.IncludeAddress}
}

type disableWebhookRequest struct {
	Reason string `json:"reason" doc:"Why, for people."`
}

type rotateWebhookRequest struct {
	OverlapSeconds *int64 `json:"overlap_seconds,omitempty" doc:"How long the secret of now signs beside the new one, at most 7 days; default a day, 0 ends it at once."`
}

const (
	defaultOverlap = 24 * time.Hour
	maxOverlap     = 7 * 24 * time.Hour
)

func (s *server) webhookRoutes() {
	rt := func(method, path, id, summary, text string, app postledger.Scope) route {
		r := admin(method, path, id, summary, text)
		r.tag, r.app = tagWebhooks, app
		if method != http.MethodGet {
			r.text += " An app's key needs read beside send: what is sent there is what read shows."
		}
		if path != "/v1/webhooks" {
			r.codes = append(r.codes, codeWebhookUnknown)
		}
		return r
	}
	const one = "/v1/webhooks/{webhook}"
	list := rt(http.MethodGet, "/v1/webhooks", "list-webhooks", "List webhooks", "Oldest first.", postledger.ScopeRead)
	list.codes = []Code{codeAppUnknown}
	read(s, list, s.listWebhooks)
	create := rt(http.MethodPost, "/v1/webhooks", "create-webhook", "Make a webhook", "An endpoint is told what becomes of its app's deliveries. The answer holds the secret that signs, which is shown this once.", postledger.ScopeSend)
	create.success, create.codes = http.StatusCreated, []Code{codeBadInput, codeAppUnknown, codeAppRemoved, codeWebhooksTooMany}
	write(s, create, s.createWebhook)
	read(s, rt(http.MethodGet, one, "get-webhook", "See a webhook", "", postledger.ScopeRead), s.getWebhook)
	change := rt(http.MethodPut, one, "put-webhook", "Change a webhook", "All that is left out is emptied. A URL with another host gets another secret, which the answer shows this once; the old ones end.", postledger.ScopeSend)
	change.codes = append(change.codes, codeBadInput, codeRevisionConflict)
	write(s, change, s.changeWebhook)
	remove := rt(http.MethodDelete, one, "remove-webhook", "Remove a webhook", "What waits for it is dropped.", postledger.ScopeSend)
	remove.success = http.StatusNoContent
	read(s, remove, s.removeWebhook)
	rotate := rt(http.MethodPost, one+"/rotate", "rotate-webhook", "Change a webhook's secret", "The answer holds the new secret, which is shown this once. Requests are signed with both for a time.", postledger.ScopeSend)
	rotate.codes = append(rotate.codes, codeBadInput)
	write(s, rotate, s.rotateWebhook)
	read(s, rt(http.MethodPost, one+"/enable", "enable-webhook", "Enable a webhook", "What settled while it was disabled is not told by itself: replay it.", postledger.ScopeSend), s.enableWebhook)
	disable := rt(http.MethodPost, one+"/disable", "disable-webhook", "Disable a webhook", "It is told nothing any more, and what waits for it is dropped.", postledger.ScopeSend)
	disable.codes = append(disable.codes, codeBadInput)
	write(s, disable, s.disableWebhook)
	s.webhookSendRoutes(rt)
}

// mayDirect refuses an app's key that could have sent to itself what it may not
// read.
func (c *call) mayDirect() error {
	if c.operator() || slices.Contains(c.key.Scopes, postledger.ScopeRead) {
		return nil
	}
	return problem(codeForbidden, "an app's key needs read beside send here")
}

// webhook is one that the caller may see (invariant 18).
func (s *server) webhook(ctx context.Context, c *call, id postledger.ID) (ledger.Webhook, error) {
	w, err := s.Ledger.Webhook(ctx, id)
	if err == nil && !c.operator() && w.AppID != c.key.AppID {
		err = ledger.ErrWebhookUnknown
	}
	return w, err
}

func (s *server) listWebhooks(ctx context.Context, c *call, in *listWebhooksInput) (listView[webhookView], error) {
	app := in.App
	if !c.operator() || !app.IsZero() {
		var err error
		if app, err = s.listed(ctx, c, "app", in.App); err != nil {
			return listView[webhookView]{}, err
		}
	}
	list, err := s.Ledger.WebhooksOf(ctx, app)
	return viewList(list, s.viewWebhook), err
}

func (s *server) getWebhook(ctx context.Context, c *call, in *webhookInput) (webhookView, error) {
	w, err := s.webhook(ctx, c, in.Webhook)
	return s.viewWebhook(&w), err
}

// take checks what was asked for and puts it into w.
func (t *webhookTerms) take(s *server, w *ledger.Webhook) error {
	url, err := s.Webhooks.CheckURL(t.url)
	if err != nil {
		return field("url", accept.RuleSyntax, urlRule(err))
	}
	if err := checkText("description", t.description); err != nil {
		return err
	}
	states, err := checkStates("states", t.states)
	if err != nil {
		return err
	}
	w.URL, w.Description, w.States, w.WithAddress = url, t.description, states, t.includeAddress
	return nil
}

// urlRule is what the guard says, without its sentinels.
func urlRule(err error) string {
	var rule *webhook.URLError
	if errors.As(err, &rule) {
		return rule.Rule
	}
	return "is not a URL that webhooks go to"
}

func (s *server) createWebhook(ctx context.Context, c *call, _ *struct{}, body *createWebhookRequest) (webhookView, error) {
	if err := c.mayDirect(); err != nil {
		return webhookView{}, err
	}
	app, err := s.listed(ctx, c, "app", body.App)
	if err != nil {
		return webhookView{}, err
	}
	w := ledger.Webhook{ID: s.Ledger.NewID(), AppID: app}
	if err := body.terms().take(s, &w); err != nil {
		return webhookView{}, err
	}
	var shown string
	if w.Secret, shown, err = s.Webhooks.NewSecret(w.ID, w.URL); err != nil {
		return webhookView{}, err
	}
	if err := s.Ledger.CreateWebhook(ctx, w, c.audit(s.Ledger.NewID(), "webhook.create", "webhook", w.ID.String())); err != nil {
		return webhookView{}, err
	}
	s.Webhooks.Changed(ctx)
	v, err := s.getWebhook(ctx, c, &webhookInput{w.ID})
	v.Secret = shown
	return v, err
}

// alter changes a webhook that the caller may see.
func (s *server) alter(ctx context.Context, c *call, id postledger.ID, action string, change func(w *ledger.Webhook, now time.Time) (bool, error)) (webhookView, error) {
	if err := c.mayDirect(); err != nil {
		return webhookView{}, err
	}
	if _, err := s.webhook(ctx, c, id); err != nil {
		return webhookView{}, err
	}
	w, err := s.Ledger.ChangeWebhook(ctx, id, c.audit(s.Ledger.NewID(), action, "webhook", id.String()), change)
	if err != nil {
		return webhookView{}, err
	}
	s.Webhooks.Changed(ctx)
	return s.viewWebhook(&w), nil
}

func (s *server) changeWebhook(ctx context.Context, c *call, in *webhookInput, body *changeWebhookRequest) (webhookView, error) {
	var next ledger.Webhook
	if err := body.terms().take(s, &next); err != nil {
		return webhookView{}, err
	}
	var shown string
	v, err := s.alter(ctx, c, in.Webhook, "webhook.change", func(w *ledger.Webhook, _ time.Time) (bool, error) {
		if w.Revision != body.Revision {
			return false, ledger.ErrRevisionConflict
		}
		shown = ""
		if !webhook.SameHost(w.URL, next.URL) {
			// What was entrusted to one host is not another's.
			var err error
			if w.Secret, shown, err = s.Webhooks.NewSecret(w.ID, next.URL); err != nil {
				return false, err
			}
			w.PreviousSecret, w.PreviousUntil = nil, time.Time{}
		}
		w.URL, w.Description, w.States, w.WithAddress = next.URL, next.Description, next.States, next.WithAddress
		return true, nil
	})
	v.Secret = shown
	return v, err
}

func (s *server) removeWebhook(ctx context.Context, c *call, in *webhookInput) (none, error) {
	err := c.mayDirect()
	if err == nil {
		_, err = s.webhook(ctx, c, in.Webhook)
	}
	if err == nil {
		err = s.Ledger.RemoveWebhook(ctx, in.Webhook, c.audit(s.Ledger.NewID(), "webhook.remove", "webhook", in.Webhook.String()))
	}
	if err == nil {
		s.Webhooks.Changed(ctx)
	}
	return none{}, err
}

func (s *server) rotateWebhook(ctx context.Context, c *call, in *webhookInput, body *rotateWebhookRequest) (webhookView, error) {
	overlap := defaultOverlap
	if asked := body.OverlapSeconds; asked != nil {
		if *asked < 0 || *asked > int64(maxOverlap/time.Second) {
			return webhookView{}, field("overlap_seconds", accept.RuleRange, "must be between 0 and 604800")
		}
		overlap = time.Duration(*asked) * time.Second
	}
	var shown string
	v, err := s.alter(ctx, c, in.Webhook, "webhook.rotate", func(w *ledger.Webhook, now time.Time) (bool, error) {
		w.PreviousSecret, w.PreviousUntil = w.Secret, now.Add(overlap)
		if overlap == 0 {
			w.PreviousSecret, w.PreviousUntil = nil, time.Time{}
		}
		var err error
		w.Secret, shown, err = s.Webhooks.NewSecret(w.ID, w.URL)
		return true, err
	})
	v.Secret = shown
	return v, err
}

func (s *server) enableWebhook(ctx context.Context, c *call, in *webhookInput) (webhookView, error) {
	return s.alter(ctx, c, in.Webhook, "webhook.enable", func(w *ledger.Webhook, _ time.Time) (bool, error) {
		was := !w.DisabledAt.IsZero()
		w.DisabledAt, w.DisabledReason = time.Time{}, ""
		if was {
			w.FailingSince = time.Time{} // what it did before does not count
		}
		return was, nil
	})
}

func (s *server) disableWebhook(ctx context.Context, c *call, in *webhookInput, body *disableWebhookRequest) (webhookView, error) {
	if body.Reason == "" {
		return webhookView{}, field("reason", accept.RuleRequired, "is missing")
	}
	if err := checkText("reason", body.Reason); err != nil {
		return webhookView{}, err
	}
	return s.alter(ctx, c, in.Webhook, "webhook.disable", func(w *ledger.Webhook, now time.Time) (bool, error) {
		altered := w.DisabledAt.IsZero() || w.DisabledReason != body.Reason
		if w.DisabledAt.IsZero() {
			w.DisabledAt = now
		}
		w.DisabledReason = body.Reason
		return altered, nil
	})
}
