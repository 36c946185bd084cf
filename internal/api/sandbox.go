package api

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport/sandbox"
)

// sandboxView is what the sandbox kept of a message.
type sandboxView struct {
	Items []keptView `json:"items"`
}

type keptView struct {
	EnvelopeID postledger.ID `json:"envelope_id"`
	ReturnPath string        `json:"return_path"`
	Recipients []string      `json:"recipients"`
	At         time.Time     `json:"at"`
	Size       int64         `json:"size"`
	Truncated  bool          `json:"truncated" doc:"It was larger than all that may be kept, and its bytes are not there."`
}

type keptInput struct {
	MessageInput
	Envelope postledger.ID `path:"envelope" doc:"The envelope."`
}

func (s *server) sandboxRoutes() {
	text := "The sandbox keeps the last messages in the memory of the process that sent them. Each use is audited."
	read(s, route{
		method: http.MethodGet, path: "/v1/messages/{id}/sandbox", id: "list-sandbox-mail", tag: tagMessages,
		summary: "See what the sandbox kept", text: text,
		app: postledger.ScopeContent, action: "sandbox.read", codes: []Code{codeMessageUnknown},
	}, s.listKept)
	read(s, route{
		method: http.MethodGet, path: "/v1/messages/{id}/sandbox/{envelope}", id: "get-sandbox-mail", tag: tagMessages,
		summary: "Read sandbox mail", text: "The bytes as they would have been sent. " + text,
		app: postledger.ScopeContent, action: "sandbox.read", codes: []Code{codeMessageUnknown, codeSandboxUnknown},
		produces: "message/rfc822",
	}, s.getKept)
}

// kept are the message's envelopes that the sandbox has, after the audit
// trail's line about it was written.
func (s *server) kept(ctx context.Context, c *call, id postledger.ID) ([]sandbox.Message, error) {
	v, err := s.Ledger.MessageByID(ctx, c.key.AppID, id)
	if err != nil {
		return nil, err
	}
	if err := s.Ledger.AppendAudit(ctx, c.audit(s.Ledger.NewID(), "sandbox.read", "message", id.String())); err != nil {
		return nil, err
	}
	var out []sandbox.Message
	seen := map[postledger.ID]bool{}
	for i := range v.Deliveries {
		e := v.Deliveries[i].EnvelopeID
		if seen[e] {
			continue
		}
		seen[e] = true
		if m, ok := s.Sandbox.Get(e); ok {
			out = append(out, m)
		}
	}
	return out, nil
}

func (s *server) listKept(ctx context.Context, c *call, in *MessageInput) (sandboxView, error) {
	list, err := s.kept(ctx, c, in.ID)
	v := sandboxView{Items: make([]keptView, 0, len(list))}
	for _, m := range list {
		v.Items = append(v.Items, keptView{m.Envelope, m.ReturnPath, m.Recipients, m.At, m.Size, m.Truncated})
	}
	return v, err
}

func (s *server) getKept(ctx context.Context, c *call, in *keptInput) ([]byte, error) {
	list, err := s.kept(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.Envelope == in.Envelope && !m.Truncated {
			c.w.Header().Set("Content-Type", "message/rfc822")
			c.w.Header().Set("Content-Disposition", `attachment; filename="`+m.Envelope.String()+`.eml"`)
			return m.Bytes, nil
		}
	}
	return nil, problem(codeSandboxUnknown, "")
}
