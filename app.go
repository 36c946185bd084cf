package postledger

import "time"

// App is a client application. It owns its messages, idempotency keys,
// quotas and suppressions, and sees nothing of another app's.
type App struct {
	ID        ID
	Name      string
	CreatedAt time.Time
	RemovedAt time.Time
}

// Scope is one right of an API key.
type Scope string

// The scopes. The first three are for app keys, the others for operators'.
const (
	// ScopeSend submits, cancels and resends messages.
	ScopeSend Scope = "send"
	// ScopeRead sees states, addresses and subjects.
	ScopeRead Scope = "read"
	// ScopeContent sees bodies, attachments and sandbox mail; each use is audited.
	ScopeContent Scope = "content"
	// ScopeAdmin administers apps, keys, profiles, grants and retention.
	ScopeAdmin Scope = "admin"
	// ScopeAudit reads the audit trail.
	ScopeAudit Scope = "audit"
)

// APIKey identifies a caller. Its token is shown once, when it is made; the
// ledger keeps only the SHA-256 of it.
type APIKey struct {
	ID ID
	// AppID is the app it is bound to; zero for an operator's key.
	AppID  ID
	Name   string
	Scopes []Scope
	// Hint is the token's last four characters, to tell keys apart.
	Hint      string
	CreatedAt time.Time
	ExpiresAt time.Time
	RevokedAt time.Time
}

// Grant lets an app use a profile.
type Grant struct {
	AppID     ID
	ProfileID ID
	// TrustedHTML leaves the app's HTML as it is; else it is sanitised.
	TrustedHTML bool
	// Quota replaces the profile's recipients in any 1,440 minutes for this
	// app; nil keeps the profile's.
	Quota     *int64
	CreatedAt time.Time
	RevokedAt time.Time
}

// Actor is who did something, as the caller names them.
type Actor struct {
	Type string `json:"type,omitempty"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// AuditEvent is one line of the audit trail: who did what to which object.
// It never holds a body, a subject or an address.
type AuditEvent struct {
	ID         ID
	At         time.Time
	AppID      ID
	APIKeyID   ID
	RequestID  string
	ActorType  string
	ActorID    string
	Action     string
	TargetType string
	TargetID   string
	// Result is "done" or the error code of a denial.
	Result string
	Detail string
}
