package api

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// auditView is one line of the audit trail. It holds no body, subject or
// address.
type auditView struct {
	ID         postledger.ID `json:"id"`
	At         time.Time     `json:"at"`
	AppID      postledger.ID `json:"app_id,omitzero"`
	APIKeyID   postledger.ID `json:"api_key_id,omitzero"`
	RequestID  string        `json:"request_id,omitempty"`
	ActorType  string        `json:"actor_type,omitempty"`
	ActorID    string        `json:"actor_id,omitempty"`
	Action     string        `json:"action"`
	TargetType string        `json:"target_type,omitempty"`
	TargetID   string        `json:"target_id,omitempty"`
	Result     string        `json:"result" doc:"done, or the code of a refusal."`
	Detail     string        `json:"detail,omitempty"`
}

type listAuditInput struct {
	App    postledger.ID `query:"app"`
	Action string        `query:"action" doc:"One action, such as message.accept."`
	Since  time.Time     `query:"since" doc:"At this time or later."`
	Until  time.Time     `query:"until" doc:"Before this time."`
	PagingInput
}

func (s *server) auditRoute() {
	read(s, route{
		method: http.MethodGet, path: "/v1/audit", id: "list-audit", tag: tagAdministration,
		summary: "Read the audit trail", text: "Newest first. It holds no body, subject or address.",
		operator: postledger.ScopeAudit, codes: []Code{codeBadInput},
	}, s.listAudit)
}

func (s *server) listAudit(ctx context.Context, _ *call, in *listAuditInput) (pageView[auditView], error) {
	p, err := s.Ledger.Audit(ctx, ledger.AuditFilter{App: in.App, Action: in.Action, Since: in.Since, Until: in.Until}, in.paging())
	return viewPage(p, func(e *postledger.AuditEvent) auditView { return auditView(*e) }), err
}
