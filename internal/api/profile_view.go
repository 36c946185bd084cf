package api

import (
	"encoding/json"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// ProfileFields are what an operator sets of a profile, all but secrets.
type ProfileFields struct {
	From                string                   `json:"from" doc:"The address that mail of this profile is from." example:"shop@example.org"`
	FromName            string                   `json:"from_name,omitempty"`
	Transport           string                   `json:"transport" doc:"smtp or sandbox." example:"smtp"`
	Settings            json.RawMessage          `json:"settings,omitempty" doc:"The transport's own settings, an object: for smtp host, port, tls (implicit, required, opportunistic, none), username, auth and others."`
	Connections         int                      `json:"connections" minimum:"2" maximum:"1000" doc:"Transactions of one process at one time; at least one and a quarter of them are kept for the immediate lane."`
	PacePerMinute       int                      `json:"pace_per_minute,omitempty" minimum:"0" doc:"Recipients a minute; 0 is no bound."`
	QuotaPerDay         *int64                   `json:"quota_per_day,omitempty" minimum:"0" doc:"Recipients of one app in any 1,440 minutes; no bound when left out."`
	MaxAttachmentBytes  int64                    `json:"max_attachment_bytes,omitempty" minimum:"0" doc:"The attachments of one message together; 25 MiB when 0."`
	ImmediatePerMinute  int                      `json:"immediate_per_minute,omitempty" minimum:"0" doc:"One app's immediate messages a minute; 0 is no bound."`
	RetryHorizonSeconds int64                    `json:"retry_horizon_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"How long refusals for now are retried; 24 hours when 0."`
	OnUnconfirmed       postledger.OnUnconfirmed `json:"on_unconfirmed,omitempty" enum:"hold,resend" doc:"What happens by itself to a delivery whose fate is unknown; hold when left out."`
	BounceDomain        string                   `json:"bounce_domain,omitempty" doc:"Makes the return path b+token@domain, and asks for failure reports."`
	MessageIDDomain     string                   `json:"message_id_domain,omitempty" doc:"The right side of Message-ID; From's domain when left out."`
	DKIMDomain          string                   `json:"dkim_domain,omitempty"`
	DKIMSelector        string                   `json:"dkim_selector,omitempty"`
}

// profileView is a profile without its secrets.
type profileView struct {
	ID        postledger.ID `json:"id"`
	Name      string        `json:"name"`
	Revision  int64         `json:"revision" doc:"Grows with every change; a change names the one it was made from."`
	IsDefault bool          `json:"is_default"`
	ProfileFields
	HasPassword bool         `json:"has_password" doc:"There is a password. It is never shown."`
	HasDKIMKey  bool         `json:"has_dkim_key" doc:"There is a DKIM key. It is never shown."`
	Paused      *pausedView  `json:"paused,omitempty" doc:"It is paused: nothing leaves, and what waits does not expire by the clock."`
	Health      *healthState `json:"health,omitempty" doc:"The next hop, as this process sees it."`
	Waiting     waitingView  `json:"waiting" doc:"What waits to be sent."`
	CreatedAt   time.Time    `json:"created_at"`
	UpdatedAt   time.Time    `json:"updated_at"`
	RemovedAt   time.Time    `json:"removed_at,omitzero"`
}

type pausedView struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	Alarm  string    `json:"alarm,omitempty" doc:"Postledger paused it by itself, and why."`
}

type healthState struct {
	State        string    `json:"state" doc:"up, down or paused."`
	Since        time.Time `json:"since,omitzero"`
	Reason       string    `json:"reason,omitempty" doc:"The failure that speaks for the state: its class, where it arose, the hop's codes, and what was found where the hop said nothing, such as its certificate's fault."`
	NextProbe    time.Time `json:"next_probe,omitzero"`
	FailedProbes int       `json:"failed_probes,omitempty"`
}

type waitingView struct {
	N           int       `json:"n" maximum:"10000" doc:"Queued deliveries, due or not."`
	More        bool      `json:"more" doc:"There are more than n."`
	OldestDue   time.Time `json:"oldest_due,omitzero" doc:"The earliest time that one of them is or was due."`
	LateSeconds int64     `json:"late_seconds" doc:"How long ago that was; 0 when it is still to come."`
}

func (s *server) viewProfile(p *postledger.Profile, b ledger.Backlog) profileView {
	v := profileView{
		ID: p.ID, Name: p.Name, Revision: p.Revision, IsDefault: p.IsDefault, ProfileFields: ProfileFields(p.Config),
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, RemovedAt: p.RemovedAt,
		Waiting: waitingView{b.Waiting, b.More, b.OldestDue, int64(b.Late / time.Second)},
	}
	v.HasPassword, v.HasDKIMKey = s.Profiles.Has(p)
	if !p.PausedAt.IsZero() {
		v.Paused = &pausedView{p.PausedAt, p.PauseReason, p.Alarm}
	}
	if h, ok := s.Profiles.Health(p.ID); ok && p.RemovedAt.IsZero() {
		v.Health = &healthState{
			State: h.State.String(), Since: h.Since, Reason: h.Why(), NextProbe: h.NextProbe, FailedProbes: h.FailedProbes,
		}
	}
	return v
}
