package postledger

import (
	"encoding/json"
	"time"
)

// Profile is a configured sending identity: From, transport and its
// credentials, pace, quota and limits.
type Profile struct {
	ID        ID
	Name      string
	Revision  int64
	IsDefault bool
	Config    ProfileConfig
	// Secrets is the sealed form of the transport's credentials and the DKIM
	// key, bound to this row and its host.
	Secrets     []byte
	PausedAt    time.Time
	PauseReason string
	// Alarm says why Postledger paused it by itself ("" when an operator did).
	Alarm     string
	RemovedAt time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
}

// OnUnconfirmed is what happens by itself to a delivery whose fate is unknown.
type OnUnconfirmed string

// The policies. Hold is the default: a report or an operator decides.
const (
	UnconfirmedHold   OnUnconfirmed = "hold"
	UnconfirmedResend OnUnconfirmed = "resend"
)

// ProfileConfig is what an operator sets, all but secrets.
type ProfileConfig struct {
	From      string `json:"from"`
	FromName  string `json:"from_name,omitempty"`
	Transport string `json:"transport"`
	// Settings belong to the transport (host, port, tls, …).
	Settings json.RawMessage `json:"settings,omitempty"`
	// Connections bounds simultaneous transactions of one process; at least
	// one and at least a quarter are kept for the immediate lane.
	Connections int `json:"connections"`
	// PacePerMinute bounds recipients a minute; 0 means no bound.
	PacePerMinute int `json:"pace_per_minute,omitempty"`
	// QuotaPerDay bounds recipients in any 1,440 minutes; nil means no bound.
	QuotaPerDay *int64 `json:"quota_per_day,omitempty"`
	// MaxAttachmentBytes bounds the attachments of one message together.
	MaxAttachmentBytes int64 `json:"max_attachment_bytes,omitempty"`
	// ImmediatePerMinute bounds one app's immediate messages a minute on this
	// profile; 0 means no bound.
	ImmediatePerMinute int `json:"immediate_per_minute,omitempty"`
	// RetryHorizonSeconds is how long charged failures are retried (default 24 h).
	RetryHorizonSeconds int64         `json:"retry_horizon_seconds,omitempty"`
	OnUnconfirmed       OnUnconfirmed `json:"on_unconfirmed,omitempty"`
	// BounceDomain makes the return path b+<envelope>@domain (VERP) and asks
	// for DSNs; without it the return path is From.
	BounceDomain string `json:"bounce_domain,omitempty"`
	// MessageIDDomain is the right side of Message-ID; From's domain if empty.
	MessageIDDomain string `json:"message_id_domain,omitempty"`
	DKIMDomain      string `json:"dkim_domain,omitempty"`
	DKIMSelector    string `json:"dkim_selector,omitempty"`
}

// RetryHorizon is how long after its first charged failure a delivery is retried.
func (c ProfileConfig) RetryHorizon() time.Duration {
	if c.RetryHorizonSeconds == 0 {
		return 24 * time.Hour
	}
	return time.Duration(c.RetryHorizonSeconds) * time.Second
}

// ImmediateReserve is how many of n connections bulk mail may not use: at
// least one and at least a quarter (invariant 8).
func (c ProfileConfig) ImmediateReserve() int { return max(1, (c.Connections+3)/4) }
