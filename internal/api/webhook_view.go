package api

import (
	"slices"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/webhook"
)

type webhookView struct {
	ID                  postledger.ID       `json:"id"`
	AppID               postledger.ID       `json:"app_id"`
	Revision            int64               `json:"revision" doc:"Grows with every change; a change names the one it was made of."`
	URL                 string              `json:"url"`
	Description         string              `json:"description,omitempty"`
	States              []postledger.Status `json:"states" doc:"The states it is told of."`
	IncludeAddress      bool                `json:"include_address" doc:"Events hold the recipient's address and the next hop's reply."`
	Enabled             bool                `json:"enabled"`
	DisabledAt          time.Time           `json:"disabled_at,omitzero"`
	DisabledReason      string              `json:"disabled_reason,omitempty"`
	FailingSince        time.Time           `json:"failing_since,omitzero" doc:"No try has succeeded since; after 21 hours of that the webhook is disabled."`
	PreviousSecretUntil time.Time           `json:"previous_secret_until,omitzero" doc:"Until then the secret before the last rotation signs too."`
	CreatedAt           time.Time           `json:"created_at"`
	UpdatedAt           time.Time           `json:"updated_at"`
	Secret              string              `json:"secret,omitempty" doc:"The secret that signs, when this request made it. It is shown this once."`
}

func (s *server) viewWebhook(w *ledger.Webhook) webhookView {
	v := webhookView{
		ID: w.ID, AppID: w.AppID, Revision: w.Revision, URL: w.URL, Description: w.Description, States: w.States,
		IncludeAddress: w.WithAddress, Enabled: w.DisabledAt.IsZero(), DisabledAt: w.DisabledAt, DisabledReason: w.DisabledReason,
		FailingSince: w.FailingSince, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt,
	}
	if s.Now().Before(w.PreviousUntil) {
		v.PreviousSecretUntil = w.PreviousUntil
	}
	if v.States == nil {
		v.States = []postledger.Status{}
	}
	return v
}

// checkStates returns the states in the order of a delivery's life, each once.
func checkStates(at string, asked []postledger.Status) ([]postledger.Status, error) {
	if len(asked) == 0 {
		return nil, field(at, accept.RuleRequired, "is missing: name at least one of "+namesOf(webhook.States()))
	}
	var out []postledger.Status
	for _, s := range webhook.States() {
		if slices.Contains(asked, s) {
			out = append(out, s)
		}
	}
	for _, s := range asked {
		if !slices.Contains(out, s) {
			return nil, field(at, accept.RuleUnknown, "a webhook can be told of "+namesOf(webhook.States()))
		}
	}
	return out, nil
}

func namesOf(list []postledger.Status) string {
	text := ""
	for i, s := range list {
		if i > 0 {
			text += ", "
		}
		text += string(s)
	}
	return text
}

type webhookAttemptView struct {
	ID         postledger.ID     `json:"id"`
	EventID    postledger.ID     `json:"event_id" doc:"The webhook-id of the request: the same for all tries of an event."`
	DeliveryID postledger.ID     `json:"delivery_id,omitzero" doc:"Missing for a test."`
	State      postledger.Status `json:"state,omitempty" doc:"What it told of; missing for a test."`
	Attempt    int               `json:"attempt"`
	Verdict    webhook.Verdict   `json:"verdict" enum:"delivered,gone,throttled,refused,unreachable,forbidden"`
	Code       int               `json:"code,omitempty" doc:"The answer's status; missing without an answer."`
	TookMS     int64             `json:"took_ms"`
	RetryAt    time.Time         `json:"retry_at,omitzero" doc:"When it is tried again; missing when it is not."`
	Response   string            `json:"response,omitempty" doc:"The first KiB of the answer, or why there was none."`
	At         time.Time         `json:"at"`
}

func viewWebhookAttempt(a *ledger.WebhookAttempt) webhookAttemptView {
	return webhookAttemptView{
		ID: a.ID, EventID: a.EventID, DeliveryID: a.DeliveryID, State: a.State, Attempt: a.Attempt, Verdict: webhook.Verdict(a.Verdict),
		Code: a.Code, TookMS: a.Took.Milliseconds(), RetryAt: a.RetryAt, Response: a.Response, At: a.At,
	}
}
