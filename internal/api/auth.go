package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/secret"
)

// authenticate finds the caller and checks the scope that the route needs. It
// runs before anything of the request is looked at.
func (s *server) authenticate(ctx context.Context, c *call) *Problem {
	if c.route.public() {
		return nil
	}
	source := s.Source(c.r)
	token, ok := bearer(c.r.Header.Values("Authorization"))
	if !ok {
		s.unauthenticated(ctx, source, false)
		return problem(codeUnauthorized, "")
	}
	sum := secret.SumToken(token)
	known, cleared, is := s.keys.get(sum)
	if is == keyDoubtful && s.unchanged(ctx, &known) {
		is = keyGood
	}
	if is != keyGood {
		// A look-up costs a query: who fails too often waits. A key that has
		// worked is not touched by that.
		if wait := s.failures.wait(source); wait > 0 && !s.keys.good(sum) {
			p := problem(codeRate, "too many failed logins")
			p.retryAfter = wait
			return p
		}
		if known.version == 0 {
			s.unchanged(ctx, &known)
		}
		var err error
		known.key, known.app, err = s.keyBySum(ctx, sum)
		switch {
		case err == nil:
			s.keys.put(sum, known, cleared)
		case errors.Is(err, ledger.ErrKeyUnknown):
			s.keys.refused(sum)
			s.unauthenticated(ctx, source, true)
			return problem(codeUnauthorized, "")
		case errors.Is(err, ledger.ErrKeyRevoked), errors.Is(err, ledger.ErrKeyExpired), errors.Is(err, ledger.ErrAppRemoved):
			// The key is known, so the line names it; how many there are of
			// them is bounded like those of strangers.
			s.keys.refused(sum)
			c.key = known.key
			s.unauthenticated(ctx, source, true)
			return problem(codeUnauthorized, "")
		default:
			return problemOf(err)
		}
	}
	c.key, c.app = known.key, known.app
	if wait := s.rates.take(c.key.ID.String()); wait > 0 {
		p := problem(codeRate, "too many requests with this key")
		p.retryAfter = wait
		return p
	}
	if !c.allowed() {
		return problem(codeForbidden, "")
	}
	return nil
}

// unchanged asks for the policy's version and reports whether it is the
// identity's. When it is not, the identity is to be looked up under that one.
func (s *server) unchanged(ctx context.Context, id *identity) bool {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	at := s.Now()
	version, err := s.Ledger.PolicyVersion(ctx)
	if s.keys.confirm(*id, version, at, err) {
		return true
	}
	*id = identity{version: version}
	return false
}

// keyBySum looks a key up, within the time that a caller is kept waiting.
func (s *server) keyBySum(ctx context.Context, sum [sha256.Size]byte) (postledger.APIKey, postledger.App, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	return s.Ledger.APIKeyBySum(ctx, sum)
}

// allowed reports whether the key has the scope that the route needs of its
// kind.
func (c *call) allowed() bool {
	need := c.route.app
	if c.operator() {
		need = c.route.operator
	}
	return need != "" && slices.Contains(c.key.Scopes, need)
}

// maxToken bounds what is hashed: a token of ours has 63 bytes at most.
const maxToken = 200

// bearer reads the one token of an Authorization header (RFC 6750 §2.1). A
// second header would leave it open which one counts.
func bearer(values []string) (string, bool) {
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || !strings.HasPrefix(token, "pl_") || len(token) > maxToken {
		return "", false
	}
	return token, true
}

// unauthenticated counts a failed login and writes the audit trail's line about
// the source, at most one a minute (invariant 14).
func (s *server) unauthenticated(ctx context.Context, source string, lookedUp bool) {
	n := s.failures.fail(source, lookedUp)
	if n == 0 {
		return
	}
	s.append(ctx, postledger.AuditEvent{
		ID: s.Ledger.NewID(), RequestID: callOf(ctx).requestID, APIKeyID: callOf(ctx).key.ID,
		Action: "auth.fail", TargetType: "source", TargetID: source, Result: string(codeUnauthorized), Detail: fmt.Sprintf("failures=%d", n),
	})
}

// auditDenial writes the refusal of an authenticated request, in a statement
// of its own: the request itself has written nothing.
func (s *server) auditDenial(ctx context.Context, c *call, p *Problem) {
	if c.key.ID.IsZero() || c.route == nil || p.Status >= 500 || p.Code == codeUnauthorized || p.Code == codeRate {
		return
	}
	if c.route.action == "" && p.Code != codeForbidden {
		return
	}
	action := c.route.action
	if action == "" {
		action = c.route.id
	}
	e := c.audit(s.Ledger.NewID(), action, "route", c.route.id)
	e.Result = string(p.Code)
	if len(p.Errors) > 0 {
		e.Detail = p.Errors[0].Field + " " + string(p.Errors[0].Rule)
	}
	s.append(ctx, e)
}

// append writes a line that no answer depends on.
func (s *server) append(ctx context.Context, e postledger.AuditEvent) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	if err := s.Ledger.AppendAudit(ctx, e); err != nil {
		s.Log.ErrorContext(ctx, "a line of the audit trail is lost", slog.String("action", e.Action),
			slog.String("result", e.Result), slog.String("request_id", e.RequestID), slog.Any("error", err))
	}
}
