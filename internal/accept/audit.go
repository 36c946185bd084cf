package accept

import (
	"context"
	"fmt"
	"strings"

	"github.com/postledger/postledger"
)

// Deny writes the denial of an authenticated request to the audit trail, in a
// statement of its own: the request itself has written nothing. It names the
// code and, for bad input, the first field, but no value (invariant 14).
func (s *Service) Deny(ctx context.Context, c Caller, action string, actor postledger.Actor, cause error) error {
	code := CodeOf(cause)
	if code == "" {
		code = CodeUnavailable
	}
	err := s.Ledger.AppendAudit(ctx, postledger.AuditEvent{
		ID: s.Ledger.NewID(), AppID: c.App, APIKeyID: c.APIKey, RequestID: c.RequestID,
		ActorType: unaddressed(actor.Type), ActorID: unaddressed(actor.ID),
		Action: action, TargetType: "app", TargetID: c.App.String(), Result: string(code), Detail: denial(cause),
	})
	if err != nil {
		return fmt.Errorf("audit a denial: %w", err)
	}
	return nil
}

// denial is a detail that holds no value of the request.
func denial(cause error) string {
	if e, ok := cause.(*InvalidError); ok && len(e.Problems) > 0 {
		p := e.Problems[0]
		return fmt.Sprintf("%s %s problems=%d", p.Field, p.Rule, len(e.Problems)+e.More)
	}
	return ""
}

// unaddressed drops a value that may be an e-mail address: some applications
// name their users by it, and the audit trail is kept without addresses. The
// message's own row has the actor in full, as long as it is kept.
func unaddressed(s string) string {
	if len(s) > MaxName || strings.ContainsFunc(s, func(r rune) bool { return r == '@' || r == '＠' || control(r) }) {
		return ""
	}
	return s
}
