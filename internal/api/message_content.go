package api

import (
	"context"
	"net/http"

	"github.com/postledger/postledger"
)

// contentView is what retention removes of a message.
type contentView struct {
	Text        string             `json:"text,omitempty"`
	HTML        string             `json:"html,omitempty" doc:"As it is sent: after the filter, if the app's HTML is filtered."`
	Headers     []headerRequest    `json:"headers"`
	FromName    string             `json:"from_name,omitempty"`
	ReplyTo     []mailboxRequest   `json:"reply_to"`
	Attachments []attachedFileView `json:"attachments"`
}

type attachedFileView struct {
	Name        string `json:"name"`
	ContentType string `json:"content_type"`
	Disposition string `json:"disposition"`
	ContentID   string `json:"content_id,omitempty"`
	Method      string `json:"method,omitempty"`
	Size        int64  `json:"size"`
	SHA256      string `json:"sha256"`
}

func (s *server) getContentRoute() {
	read(s, route{
		method: http.MethodGet, path: "/v1/messages/{id}/content", id: "get-content", tag: tagMessages,
		summary: "Read a message's content", text: "Bodies, headers and what is known of its files. Each use is audited.",
		app: postledger.ScopeContent, action: "content.read", codes: []Code{codeMessageUnknown, codeMessageGone},
	}, s.getContent)
}

func (s *server) getContent(ctx context.Context, c *call, in *MessageInput) (contentView, error) {
	line := c.audit(s.Ledger.NewID(), "content.read", "message", in.ID.String())
	content, err := s.Ledger.ReadContent(ctx, c.key.AppID, in.ID, line)
	if err != nil {
		return contentView{}, err
	}
	v := contentView{
		Text: content.Text, HTML: content.HTML, FromName: content.FromName,
		Headers: []headerRequest{}, ReplyTo: []mailboxRequest{}, Attachments: []attachedFileView{},
	}
	for _, h := range content.Headers {
		v.Headers = append(v.Headers, headerRequest(h))
	}
	for _, m := range content.ReplyTo {
		v.ReplyTo = append(v.ReplyTo, mailboxRequest(m))
	}
	for _, a := range content.Attachments {
		v.Attachments = append(v.Attachments, attachedFileView{
			a.Name, a.ContentType, a.Disposition, a.ContentID, a.Method, a.Size, a.SHA256,
		})
	}
	return v, nil
}
