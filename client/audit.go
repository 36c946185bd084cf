package client

import (
	"context"
	"iter"
	"net/url"
	"time"

	"github.com/postledger/postledger"
)

// AuditEvent is one line of the audit trail: who did what to which object. It
// never holds a body, a subject or an address.
type AuditEvent struct {
	ID         postledger.ID `json:"id"`
	At         time.Time     `json:"at"`
	AppID      postledger.ID `json:"app_id"`
	APIKeyID   postledger.ID `json:"api_key_id"`
	RequestID  string        `json:"request_id"`
	ActorType  string        `json:"actor_type"`
	ActorID    string        `json:"actor_id"`
	Action     string        `json:"action"`
	TargetType string        `json:"target_type"`
	TargetID   string        `json:"target_id"`
	// Result is "done" or the code of a refusal.
	Result string `json:"result"`
	Detail string `json:"detail"`
}

// AuditFilter chooses lines. Fields that are zero choose all; the others add up.
type AuditFilter struct {
	App postledger.ID
	// Action is one action, such as message.accept.
	Action string
	// Since and Until bound when: since <= at < until.
	Since, Until time.Time
	// PageSize is how many lines are fetched at a time, at most 1,000; 0 is the
	// server's default (50).
	PageSize int
}

// Audit lists the audit trail, newest first. Errors: ErrBadInput; scope audit.
func (c *Client) Audit(ctx context.Context, f AuditFilter) iter.Seq2[AuditEvent, error] {
	p := parameters{}
	p.id("app", f.App)
	p.text("action", f.Action)
	p.time("since", f.Since)
	p.time("until", f.Until)
	p.size(f.PageSize)
	return pages[AuditEvent](ctx, c, "list audit", "/v1/audit", url.Values(p))
}
