package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// exchange lets a transformer change the status that huma is about to write:
// huma answers its own findings with 422, and the table says 400.
type exchange struct {
	embedded
	forced int
}

// embedded gives huma's context a name that is not its own method's.
type embedded huma.Context

// SetStatus writes the status, or the forced one.
func (e *exchange) SetStatus(code int) {
	if e.forced != 0 {
		code = e.forced
	}
	e.embedded.SetStatus(code)
}

// Unwrap gives huma's adapter its own context back.
func (e *exchange) Unwrap() huma.Context { return e.embedded }

// enter is the way into every operation: limits and authentication first, then
// the query as a whole, then huma's own reading of parameters.
func (s *server) enter(rt *route) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		ctx := hc.Context()
		c := callOf(ctx)
		c.route = rt
		p := s.authenticate(ctx, c)
		if p == nil {
			p = checkQuery(c.r.URL.RawQuery)
		}
		if p != nil {
			s.refuse(ctx, c, p).write(c.w, c.requestID)
			return
		}
		next(&exchange{embedded: hc})
	}
}

// checkQuery refuses a query that can be read in more than one way. An empty
// value would be no filter at all, where somebody meant one (invariant 11).
func checkQuery(raw string) *Problem {
	if raw == "" {
		return nil
	}
	q, err := url.ParseQuery(raw)
	if err != nil {
		return field("", accept.RuleSyntax, "the query string is not valid")
	}
	var p *Problem
	for _, name := range slices.Sorted(mapKeys(q)) {
		var f *Problem
		switch values := q[name]; {
		case len(values) > 1:
			f = field(safeName(name), accept.RuleDuplicate, "is given more than once")
		case meansNothing(values[0]):
			f = field(safeName(name), ruleEmpty, "has no value: leave it out if it is not meant")
		default:
			continue
		}
		if p == nil {
			p = f
		} else if len(p.Errors) < accept.MaxProblems {
			p.Errors = append(p.Errors, f.Errors...)
		}
	}
	return p
}

// meansNothing reports a value that would be read as none: the empty text, and
// the id and the time whose Go values are zero.
func meansNothing(v string) bool {
	if v == "" {
		return true
	}
	if id, err := postledger.ParseID(v); err == nil && id.IsZero() {
		return true
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	return err == nil && t.IsZero()
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// refuse completes a refusal: its request id, the log's line, and the audit
// trail's where the route has an action or the scope was refused.
func (s *server) refuse(ctx context.Context, c *call, p *Problem) *Problem {
	p.RequestID = c.requestID
	c.problem = p
	p.headers(c.w.Header())
	if p.Status >= http.StatusInternalServerError {
		s.Log.ErrorContext(ctx, "request failed", slog.String("request_id", c.requestID), slog.String("route", c.pattern()),
			slog.String("code", string(p.Code)), slog.Any("cause", errors.Unwrap(p)))
	}
	s.auditDenial(ctx, c, p)
	return p
}

// transform turns what huma itself refuses into a document of ours. Its
// details carry the values they are about, which are left out.
func (s *server) transform(hc huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	c := callOf(hc.Context())
	p := problem(codeBadInput, "")
	if m.Status >= http.StatusInternalServerError {
		p = problem(codeInternal, "")
	}
	for _, d := range m.Errors {
		if p.Status < http.StatusInternalServerError && len(p.Errors) < accept.MaxProblems {
			p.Errors = append(p.Errors, humaField(d))
		}
	}
	s.refuse(hc.Context(), c, p)
	if e, ok := hc.(*exchange); ok {
		e.forced = p.Status
	}
	return p, nil
}

// humaRules maps the beginnings of huma's messages to rules, and to what is
// said instead where huma speaks to Go programmers. Its messages name limits and
// formats, never the value.
var humaRules = []struct {
	begins string
	rule   accept.Rule
	says   string
	whole  bool // nothing of huma's message follows
}{
	{begins: "required ", rule: accept.RuleRequired},
	{begins: "unknown query parameter", rule: accept.RuleUnknown},
	{"expected value to be one of", accept.RuleUnknown, "must be one of", false},
	{"expected number >=", accept.RuleRange, "must be at least", false},
	{"expected number <=", accept.RuleRange, "must be at most", false},
	{begins: "expected number", rule: accept.RuleRange},
	{begins: "expected length <=", rule: accept.RuleTooLong},
	{begins: "expected array length <=", rule: accept.RuleTooMany},
	{"invalid date/time", accept.RuleSyntax, "must be a time such as 2026-01-31T12:00:00Z (RFC 3339)", true},
	{"invalid integer", ruleType, "must be a whole number", true},
	{"invalid boolean", ruleType, "must be true or false", true},
}

func humaField(d *huma.ErrorDetail) FieldError {
	_, name, found := strings.Cut(d.Location, ".")
	if !found {
		name = d.Location
	}
	f := FieldError{Field: safeName(name), Rule: accept.RuleSyntax, Message: d.Message}
	for _, r := range humaRules {
		if strings.HasPrefix(d.Message, r.begins) {
			f.Rule = r.rule
			switch {
			case r.whole:
				f.Message = r.says
			case r.says != "":
				f.Message = r.says + strings.TrimPrefix(d.Message, r.begins)
			}
			break
		}
	}
	return f
}

// maxShownName is longer than every name of ours and shorter than every token.
const maxShownName = 40

// safeName is a name from the request as an answer may show it: one that is
// not like ours may hold anything.
func safeName(name string) string {
	if len(name) > maxShownName || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.[]", r)
	}) {
		return "(a name that is not shown)"
	}
	return name
}
