package accept

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	stdmime "mime"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/mime"
)

const (
	dispositionAttachment = "attachment"
	dispositionInline     = "inline"
	octetStream           = "application/octet-stream"
)

// checkAttachments checks what is declared of the files; their content is
// checked while it is stored.
func (r *Request) checkAttachments(p problems) {
	if len(r.Attachments) > MaxAttachments {
		p.add("attachments", RuleTooMany, fmt.Sprintf("has more than %d files", MaxAttachments))
		return
	}
	for i := range r.Attachments {
		r.Attachments[i].check(p.under(at("attachments", i) + "."))
	}
}

func (a *Attachment) check(p problems) {
	p.shown("name", a.Name, MaxName)
	if a.Name == "" && a.Disposition != dispositionInline {
		p.add("name", RuleRequired, "is missing; only an inline file may have none")
	}
	if t := a.ContentType; t != "" {
		p.tight("content_type", t, MaxName)
		_, params, err := stdmime.ParseMediaType(t)
		if err != nil {
			p.add("content_type", RuleSyntax, "is not a media type such as application/pdf")
		}
		for _, value := range params {
			// Percent-encoded, it was no control character above (RFC 2231 §4).
			if strings.ContainsFunc(value, control) {
				p.add("content_type", RuleControl, "has a parameter with a line break, NUL or another control character")
				break
			}
		}
	}
	switch a.Disposition {
	case "", dispositionAttachment, dispositionInline:
	default:
		p.add("disposition", RuleUnknown, "is neither attachment nor inline")
	}
	p.tight("content_id", a.ContentID, MaxName)
	a.checkMethod(p)
	switch {
	case a.Open == nil && a.Data == nil:
		p.add("content", RuleRequired, "is missing")
	case a.Open != nil && a.Data != nil:
		p.add("content", RuleNotAllowed, "is given twice")
	}
	a.checkDeclared(p)
}

// checkMethod: the methods of RFC 5546 §1.4, since a receiver acts on them.
func (a *Attachment) checkMethod(p problems) {
	switch strings.ToUpper(a.Method) {
	case "", "PUBLISH", "REQUEST", "REPLY", "ADD", "CANCEL", "REFRESH", "COUNTER", "DECLINECOUNTER":
	default:
		p.add("method", RuleUnknown, "is not a calendar method such as REQUEST or CANCEL")
		return
	}
	if base, _, _ := stdmime.ParseMediaType(a.ContentType); a.Method != "" && base != "text/calendar" {
		p.add("method", RuleNotAllowed, "needs the content type text/calendar")
	}
}

func (a *Attachment) checkDeclared(p problems) {
	if a.Size != nil {
		switch {
		case *a.Size < 0:
			p.add("size", RuleRange, "is negative")
		case a.Data != nil && *a.Size != int64(len(a.Data)):
			p.add("size", RuleMismatch, "is not the size of the content")
		}
	}
	if a.SHA256 == "" {
		return
	}
	if sum, err := hex.DecodeString(a.SHA256); err != nil || len(sum) != 32 {
		p.add("sha256", RuleSyntax, "is not 64 hexadecimal digits")
	}
}

// declaredSize is what is known of the size before the content is read.
func (a *Attachment) declaredSize() int64 {
	switch {
	case a.Data != nil:
		return int64(len(a.Data))
	case a.Size != nil:
		return *a.Size
	default:
		return 0
	}
}

// meta is the attachment as the ledger keeps it, without what only its content
// tells.
func (a *Attachment) meta() postledger.Attachment {
	m := postledger.Attachment{
		Name: a.Name, ContentType: a.ContentType, Disposition: a.Disposition,
		ContentID: a.ContentID, Method: strings.ToUpper(a.Method),
	}
	if m.ContentType == "" {
		m.ContentType = octetStream
	}
	if m.Disposition == "" {
		m.Disposition = dispositionAttachment
	}
	return m
}

// part is the attachment as the composer sees it; it is not opened.
func (a *Attachment) part() mime.Attachment {
	m := mime.Attachment{
		Filename: a.Name, ContentType: a.ContentType, ContentID: a.ContentID, Method: a.Method,
		Open: func() (io.ReadCloser, error) { return nil, errNotStored },
	}
	if a.Disposition == dispositionInline {
		m.Disposition = mime.DispositionInline
	}
	return m
}

var errNotStored = errors.New("the content is not stored yet")
