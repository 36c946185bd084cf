package client

import (
	"time"

	"github.com/postledger/postledger"
)

// Summary is the state of a message.
type Summary struct {
	// Status is the first that applies: any sending, any queued, any
	// unconfirmed, any sent, the only state that all deliveries share, failed.
	Status postledger.Status `json:"status"`
	// Counts is how many deliveries are in each state that occurs.
	Counts map[postledger.Status]int `json:"counts"`
	// Failures are the first 100 recipients that failed or were suppressed.
	Failures []Failure `json:"failures"`
}

// Settled reports whether nothing more happens by itself to any of the
// deliveries. An unconfirmed one is settled with doubt: a late answer or an
// operator may still move it. It is false for an empty Summary.
func (s *Summary) Settled() bool {
	return s.Status != "" && s.Counts[postledger.StatusQueued] == 0 && s.Counts[postledger.StatusSending] == 0
}

// Failure is a recipient that did not get the message as far as is known.
type Failure struct {
	DeliveryID postledger.ID     `json:"delivery_id"`
	Recipient  string            `json:"recipient"`
	Status     postledger.Status `json:"status"`
	Reason     postledger.Reason `json:"reason"`
	At         time.Time         `json:"at"`
	// Resent: it had been unconfirmed and was to be sent again, so an earlier copy
	// may have arrived all the same.
	Resent bool `json:"resent"`
}

// StoredMessage is a message in the ledger, without its content.
type StoredMessage struct {
	ID        postledger.ID `json:"id"`
	AppID     postledger.ID `json:"app_id"`
	ProfileID postledger.ID `json:"profile_id"`
	// Profile is the profile's name when the message was accepted.
	Profile string `json:"profile"`
	// BatchID is the batch it came in, and ResendOf the message whose failed
	// recipients it was sent to again; zero if there is none.
	BatchID  postledger.ID       `json:"batch_id"`
	ResendOf postledger.ID       `json:"resend_of"`
	Lane     postledger.Lane     `json:"lane"`
	Category postledger.Category `json:"category"`
	Subject  string              `json:"subject"`
	Ref      Ref                 `json:"ref"`
	Tenant   string              `json:"tenant"`
	Locale   string              `json:"locale"`
	Actor    postledger.Actor    `json:"actor"`
	// MessageID is the caller's own RFC 5322 Message-ID; empty when Postledger
	// made it.
	MessageID string `json:"message_id"`
	// RequestID is the request that brought it.
	RequestID string `json:"request_id"`
	// SizeBytes counts subject, bodies and attachments, before encoding.
	SizeBytes  int64     `json:"size_bytes"`
	Recipients int       `json:"recipients"`
	CreatedAt  time.Time `json:"created_at"`
	SendAt     time.Time `json:"send_at"`
	ExpiresAt  time.Time `json:"expires_at"`
	// SettledAt is when the last delivery settled; zero before.
	SettledAt time.Time `json:"settled_at"`
	// ContentPurgedAt is when bodies and attachments were removed by retention.
	ContentPurgedAt time.Time `json:"content_purged_at"`
	Summary
}

// Delivery is one message to one recipient: the ledger's row. Times that do not
// apply are zero.
type Delivery struct {
	ID        postledger.ID `json:"id"`
	MessageID postledger.ID `json:"message_id"`
	// EnvelopeID is shared by deliveries that leave in one transaction.
	EnvelopeID postledger.ID            `json:"envelope_id"`
	AppID      postledger.ID            `json:"app_id"`
	ProfileID  postledger.ID            `json:"profile_id"`
	Lane       postledger.Lane          `json:"lane"`
	Kind       postledger.RecipientKind `json:"kind"`
	Position   int                      `json:"position"`
	Address    string                   `json:"address"`
	Name       string                   `json:"name"`
	Status     postledger.Status        `json:"status"`
	// Reason is why it is in its state.
	Reason postledger.Reason `json:"reason"`
	// Attempts counts the tries that were charged to it.
	Attempts int `json:"attempts"`
	// Resent: it had been unconfirmed and was to be sent again. Its recipient may
	// have a copy whatever its status is now, and two if it was sent.
	Resent     bool   `json:"resent"`
	ProviderID string `json:"provider_id"`
	// Response is the next hop's last reply, with the address replaced by
	// {rcpt}.
	Response  string    `json:"response"`
	CreatedAt time.Time `json:"created_at"`
	// DueAt is when a queued delivery is tried next.
	DueAt             time.Time `json:"due_at"`
	LeasedAt          time.Time `json:"leased_at"`
	FirstChargedAt    time.Time `json:"first_charged_at"`
	ExpiresAt         time.Time `json:"expires_at"`
	CancelRequestedAt time.Time `json:"cancel_requested_at"`
	SentAt            time.Time `json:"sent_at"`
	SettledAt         time.Time `json:"settled_at"`
	// ResolveBy is until when an unconfirmed delivery may still move.
	ResolveBy time.Time `json:"resolve_by"`
}

// Event is one line of a delivery's history: deferrals, refusals, feedback,
// decisions. A plain success has none.
type Event struct {
	At      time.Time         `json:"at"`
	Kind    string            `json:"kind"`
	From    postledger.Status `json:"from"`
	To      postledger.Status `json:"to"`
	Reason  postledger.Reason `json:"reason"`
	Attempt int               `json:"attempt"`
	// Phase is where in the transaction with the next hop it arose.
	Phase string `json:"phase"`
	// Code and Enhanced (RFC 3463) are the hop's reply codes.
	Code     int    `json:"code"`
	Enhanced string `json:"enhanced"`
	Response string `json:"response"`
	Actor    string `json:"actor"`
}
