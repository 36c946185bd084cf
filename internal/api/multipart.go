package api

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"

	"github.com/danielgtaylor/huma/v2"

	"github.com/postledger/postledger/internal/accept"
)

// multipartBody describes the streamed form of a message.
func multipartBody() map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"multipart/form-data": {
		Schema: &huma.Schema{
			Type: huma.TypeObject, Required: []string{"message"},
			Properties: map[string]*huma.Schema{
				"message": {Ref: "#/components/schemas/MessageRequest"},
				"attachment": {
					Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Format: "binary"},
					Description: "The files, in the order of the message's attachments, which name and describe them.",
				},
			},
		},
		Encoding: map[string]*huma.Encoding{"message": {ContentType: "application/json"}},
	}}
}

// multipartMessage reads the part "message" and leaves the files in the body:
// they are read when the step that accepts stores them, one after the other.
func (c *call) multipartMessage() (*accept.Request, error) {
	c.r.Body = io.NopCloser(c.stream(c.r.Body))
	mr, err := c.r.MultipartReader()
	if err != nil {
		return nil, problem(codeMediaType, "the multipart body has no valid boundary")
	}
	m, err := c.messagePart(mr)
	if err != nil {
		return nil, err
	}
	r := m.request()
	files := &fileParts{mr: mr, n: len(r.Attachments)}
	for i := range r.Attachments {
		if r.Attachments[i].Data != nil {
			return nil, field(fmt.Sprintf("attachments[%d].content", i), accept.RuleNotAllowed,
				"is for JSON requests: in a multipart request the parts bring the content")
		}
		r.Attachments[i].Open = func() (io.ReadCloser, error) { return files.open(i) }
	}
	if len(r.Attachments) == 0 {
		if err := files.end(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (c *call) messagePart(mr *multipart.Reader) (*messageRequest, error) {
	part, err := mr.NextPart()
	switch {
	case errors.Is(err, io.EOF):
		return nil, field("message", accept.RuleRequired, "is missing: the first part must be the message as JSON")
	case err != nil:
		return nil, multipartProblem(err)
	case part.FormName() != "message":
		return nil, field("message", ruleOrder, "must be the first part")
	}
	var m messageRequest
	limited := &reserving{r: &limitedPart{r: part, left: c.route.maxBody}, mem: c.memory, free: bodyStep}
	if err := newDecoder(c.types, limited).whole(&m); err != nil {
		return nil, err
	}
	return &m, nil
}

// limitedPart refuses a part that is larger than a request may be without its
// attachments.
type limitedPart struct {
	r    io.Reader
	left int64
}

func (l *limitedPart) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if l.left -= int64(n); l.left < 0 {
		return 0, problem(codeRequestTooLarge, "the part message is too large")
	}
	return n, err
}

// fileParts hands out the parts that follow the message.
type fileParts struct {
	mr *multipart.Reader
	n  int
}

// open is the i-th file's content. The step opens them in their order, and not
// before the one ahead was read.
func (f *fileParts) open(i int) (io.ReadCloser, error) {
	part, err := f.mr.NextPart()
	name := fmt.Sprintf("attachments[%d]", i)
	switch {
	case errors.Is(err, io.EOF):
		return nil, invalidPart(name, accept.RuleRequired, "has no part: the body ends before it")
	case err != nil:
		return nil, &brokenPart{multipartProblem(err)}
	case part.FormName() != "attachment":
		return nil, invalidPart(name, ruleOrder, "must come in a part named attachment")
	}
	return &filePart{f: f, part: part, last: i == f.n-1}, nil
}

// end demands that no part follows.
func (f *fileParts) end() error {
	switch _, err := f.mr.NextPart(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return multipartProblem(err)
	default:
		return invalidPart("attachments", accept.RuleMismatch, "describes fewer files than the body has")
	}
}

// filePart is one file's content. The last one ends only where the body ends.
type filePart struct {
	f    *fileParts
	part *multipart.Part
	last bool
	done bool
}

func (p *filePart) Read(b []byte) (int, error) {
	n, err := p.part.Read(b)
	switch {
	case errors.Is(err, io.EOF):
		if p.last && !p.done {
			p.done = true
			if end := p.f.end(); end != nil {
				return n, end
			}
		}
	case err != nil:
		return n, &brokenPart{multipartProblem(err)}
	}
	return n, err
}

func (p *filePart) Close() error { return nil }

// invalidPart is a refusal that passes the step that accepts as it is.
func invalidPart(name string, rule accept.Rule, message string) error {
	return &accept.InvalidError{Problems: []accept.Problem{{Field: name, Rule: rule, Message: message}}}
}

// brokenPart carries a problem of the body through the step that reads it.
type brokenPart struct{ p *Problem }

func (b *brokenPart) Error() string { return b.p.Error() }

// Code lets the step that accepts pass it on.
func (b *brokenPart) Code() accept.Code { return accept.Code(b.p.Code) }

// Unwrap is the problem itself.
func (b *brokenPart) Unwrap() error { return b.p }

// multipartProblem is a body that is not multipart, or broke.
func multipartProblem(err error) *Problem {
	p := readProblem(err)
	if p.Code == codeBadInput {
		p.Errors[0].Message = "the multipart body is not valid, or ends before its last boundary"
	}
	return p
}
