package api

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// Problem is what every refusal looks like (RFC 9457).
type Problem struct {
	Type      string       `json:"type" format:"uri-reference" doc:"Where the code is explained." example:"/docs#bad_input"`
	Title     string       `json:"title" doc:"What the code means."`
	Status    int          `json:"status" doc:"The HTTP status." example:"400"`
	Detail    string       `json:"detail,omitempty" doc:"What happened this time."`
	Code      Code         `json:"code" doc:"The stable name of the refusal." example:"bad_input"`
	RequestID string       `json:"request_id" doc:"Names the request in logs and in the audit trail."`
	Errors    []FieldError `json:"errors,omitempty" doc:"Every field that breaks a rule, up to 50."`
	More      int          `json:"more,omitempty" doc:"How many further fields break a rule."`

	Limit     *int64        `json:"limit,omitempty" doc:"What may not be passed: recipients, bytes or messages."`
	Used      *int64        `json:"used,omitempty" doc:"How much of the limit is used."`
	Requested *int64        `json:"requested,omitempty" doc:"How much of it the request needs."`
	ResetsAt  time.Time     `json:"resets_at,omitzero" doc:"When enough of the limit will be free."`
	MessageID postledger.ID `json:"message_id,omitzero" doc:"The message whose fate is unknown."`
	Fate      string        `json:"fate,omitempty" doc:"unknown: the request may have been accepted." enum:"unknown"`

	retryAfter time.Duration
	allow      string
	cause      error
}

// FieldError is one field that breaks a rule.
type FieldError struct {
	Field   string      `json:"field" doc:"Where it stands, such as to[1].address; empty for the request as a whole." example:"to[1].address"`
	Rule    accept.Rule `json:"rule" doc:"The stable name of the rule." example:"syntax"`
	Message string      `json:"message" doc:"What to do, without the value."`
}

// problem begins a refusal.
func problem(c Code, detail string) *Problem {
	e := entry(c)
	return &Problem{Type: "/docs#" + string(e.Code), Title: e.Title, Status: e.Status, Detail: detail, Code: e.Code}
}

// field is a refusal for one field.
func field(name string, rule accept.Rule, message string) *Problem {
	p := problem(codeBadInput, "")
	p.Errors = []FieldError{{name, rule, message}}
	return p
}

// Rules of this package, beside those of accept.
const (
	ruleJSON  accept.Rule = "json"  // not JSON, or more than one value
	ruleType  accept.Rule = "type"  // another JSON type
	ruleNull  accept.Rule = "null"  // null, where leaving it out is meant
	ruleEmpty accept.Rule = "empty" // a query parameter or filter without a value
	ruleOrder accept.Rule = "order" // a part of the body stands in the wrong place
)

// Error is for logs; it holds no value of the request.
func (p *Problem) Error() string {
	s := string(p.Code)
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	if len(p.Errors) > 0 {
		s += ": " + p.Errors[0].Field + " " + p.Errors[0].Message
	}
	return s
}

// Unwrap is the cause, for logs.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus tells huma the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType tells huma the media type.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// headers sets what belongs to the refusal beside its document.
func (p *Problem) headers(h http.Header) {
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(p.retryAfter.Seconds())), 10))
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="postledger"`)
	}
}

// write answers outside of huma.
func (p *Problem) write(w http.ResponseWriter, requestID string) {
	p.RequestID = requestID
	p.headers(w.Header())
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the connection is gone: there is nobody to tell
}
