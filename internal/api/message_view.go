package api

import (
	"slices"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// SummaryView is the state of a message.
type SummaryView struct {
	Status   postledger.Status         `json:"status" doc:"The first that applies: any sending, any queued, any unconfirmed, any sent, the only state that all share, failed." enum:"queued,sending,sent,unconfirmed,failed,suppressed,canceled"`
	Counts   map[postledger.Status]int `json:"counts" doc:"How many deliveries are in each state that occurs."`
	Failures []failureView             `json:"failures,omitempty" doc:"The first 100 recipients that failed or were suppressed."`
}

type failureView struct {
	DeliveryID postledger.ID     `json:"delivery_id"`
	Recipient  string            `json:"recipient"`
	Status     postledger.Status `json:"status"`
	Reason     postledger.Reason `json:"reason"`
	At         time.Time         `json:"at,omitzero"`
	Resent     bool              `json:"resent,omitempty" doc:"It had been unconfirmed and was to be sent again, so an earlier copy may have arrived all the same."`
}

func summary(s ledger.Summary) SummaryView {
	v := SummaryView{Status: s.Status, Counts: s.Counts}
	if v.Counts == nil {
		v.Counts = map[postledger.Status]int{}
	}
	for _, f := range s.Failures {
		v.Failures = append(v.Failures, failureView(f))
	}
	return v
}

// MessageView is a message without its content.
type MessageView struct {
	ID              postledger.ID       `json:"id"`
	AppID           postledger.ID       `json:"app_id"`
	ProfileID       postledger.ID       `json:"profile_id"`
	Profile         string              `json:"profile" doc:"The profile's name when it was accepted."`
	BatchID         postledger.ID       `json:"batch_id,omitzero"`
	ResendOf        postledger.ID       `json:"resend_of,omitzero" doc:"The message whose failed recipients it was sent to again."`
	Lane            postledger.Lane     `json:"lane"`
	Category        postledger.Category `json:"category"`
	Subject         string              `json:"subject"`
	Ref             *refRequest         `json:"ref,omitempty"`
	Tenant          string              `json:"tenant,omitempty"`
	Locale          string              `json:"locale,omitempty"`
	Actor           *actorRequest       `json:"actor,omitempty"`
	MessageID       string              `json:"message_id,omitempty" doc:"The caller's own RFC 5322 Message-ID."`
	RequestID       string              `json:"request_id,omitempty" doc:"The request that brought it."`
	SizeBytes       int64               `json:"size_bytes"`
	Recipients      int                 `json:"recipients"`
	CreatedAt       time.Time           `json:"created_at"`
	SendAt          time.Time           `json:"send_at,omitzero"`
	ExpiresAt       time.Time           `json:"expires_at,omitzero"`
	SettledAt       time.Time           `json:"settled_at,omitzero"`
	ContentPurgedAt time.Time           `json:"content_purged_at,omitzero"`
	SummaryView
}

func viewMessage(m *postledger.Message, s ledger.Summary) MessageView {
	v := MessageView{
		ID: m.ID, AppID: m.AppID, ProfileID: m.ProfileID, Profile: m.ProfileName, BatchID: m.BatchID, ResendOf: m.ResendOf,
		Lane: m.Lane, Category: m.Category, Subject: m.Subject, Tenant: m.Tenant, Locale: m.Locale,
		MessageID: m.HeaderMessageID, RequestID: m.RequestID, SizeBytes: m.SizeBytes, Recipients: m.Recipients,
		CreatedAt: m.CreatedAt, SendAt: m.SendAt, ExpiresAt: m.ExpiresAt, SettledAt: m.SettledAt,
		ContentPurgedAt: m.ContentPurgedAt, SummaryView: summary(s),
	}
	if m.RefID != "" {
		v.Ref = &refRequest{m.RefScope, m.RefID}
	}
	if a := actorRequest(m.Actor); a != (actorRequest{}) {
		v.Actor = &a
	}
	return v
}

// DeliveryView is one recipient's row.
type DeliveryView struct {
	ID                postledger.ID            `json:"id"`
	MessageID         postledger.ID            `json:"message_id"`
	EnvelopeID        postledger.ID            `json:"envelope_id" doc:"The deliveries that leave in one transaction share it."`
	AppID             postledger.ID            `json:"app_id"`
	ProfileID         postledger.ID            `json:"profile_id"`
	Lane              postledger.Lane          `json:"lane"`
	Kind              postledger.RecipientKind `json:"kind" enum:"to,cc,bcc"`
	Position          int                      `json:"position"`
	Address           string                   `json:"address"`
	Name              string                   `json:"name,omitempty"`
	Status            postledger.Status        `json:"status" enum:"queued,sending,sent,unconfirmed,failed,suppressed,canceled"`
	Reason            postledger.Reason        `json:"reason,omitempty" doc:"Why it is in its state."`
	Attempts          int                      `json:"attempts" doc:"Tries that were charged to it."`
	Resent            bool                     `json:"resent,omitempty" doc:"It had been unconfirmed and was to be sent again: its recipient may have a copy whatever its status is now, and two if it was sent."`
	ProviderID        string                   `json:"provider_id,omitempty"`
	Response          string                   `json:"response,omitempty" doc:"The next hop's last reply, with the address replaced by {rcpt}."`
	CreatedAt         time.Time                `json:"created_at"`
	DueAt             time.Time                `json:"due_at,omitzero" doc:"When it is tried next; while it is queued only."`
	LeasedAt          time.Time                `json:"leased_at,omitzero"`
	FirstChargedAt    time.Time                `json:"first_charged_at,omitzero"`
	ExpiresAt         time.Time                `json:"expires_at,omitzero"`
	CancelRequestedAt time.Time                `json:"cancel_requested_at,omitzero"`
	SentAt            time.Time                `json:"sent_at,omitzero"`
	SettledAt         time.Time                `json:"settled_at,omitzero"`
	ResolveBy         time.Time                `json:"resolve_by,omitzero" doc:"Until when an unconfirmed delivery may still move."`
}

func viewDelivery(d *postledger.Delivery) DeliveryView {
	return DeliveryView{
		ID: d.ID, MessageID: d.MessageID, EnvelopeID: d.EnvelopeID, AppID: d.AppID, ProfileID: d.ProfileID,
		Lane: d.Lane, Kind: d.Kind, Position: d.Position, Address: d.Address, Name: d.DisplayName,
		Status: d.Status, Reason: d.Reason, Attempts: d.Attempts, Resent: d.Resent, ProviderID: d.ProviderID, Response: d.Response,
		CreatedAt: d.CreatedAt, DueAt: d.DueAt, LeasedAt: d.LeasedAt, FirstChargedAt: d.FirstChargedAt, ExpiresAt: d.ExpiresAt,
		CancelRequestedAt: d.CancelRequestedAt, SentAt: d.SentAt, SettledAt: d.SettledAt, ResolveBy: d.ResolveBy,
	}
}

// eventView is one line of a delivery's history.
type eventView struct {
	At       time.Time         `json:"at"`
	Kind     string            `json:"kind"`
	From     postledger.Status `json:"from,omitempty"`
	To       postledger.Status `json:"to,omitempty"`
	Reason   postledger.Reason `json:"reason,omitempty"`
	Attempt  int               `json:"attempt"`
	Phase    string            `json:"phase,omitempty" doc:"Where in the transaction with the next hop it arose."`
	Code     int               `json:"code,omitempty" doc:"The hop's reply code."`
	Enhanced string            `json:"enhanced,omitempty" doc:"The hop's enhanced status code (RFC 3463)."`
	Response string            `json:"response,omitempty"`
	Actor    string            `json:"actor,omitempty"`
}

func viewEvents(list []postledger.Event) []eventView {
	out := make([]eventView, 0, len(list))
	for i := range list {
		e := &list[i]
		phase := e.Phase
		if phase == postledger.PhaseNone.String() {
			phase = ""
		}
		out = append(out, eventView{e.At, e.Kind, e.From, e.To, e.Reason, e.Attempt, phase, e.Code, e.Enhanced, e.Response, e.Actor})
	}
	return slices.Clip(out)
}
