package accept

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/lens/stablehash"
)

// printedFile is a file by what is declared of it.
type printedFile struct {
	Name        string `json:"name"`
	ContentType string `json:"content_type"`
	Disposition string `json:"disposition"`
	ContentID   string `json:"content_id"`
	Method      string `json:"method"`
	Size        *int64 `json:"size"`
	SHA256      string `json:"sha256"`
}

// fingerprint identifies what a key was used for: the request without its key,
// with defaults filled in, times in UTC, and files by what is declared of them.
// A file that is part of the request's own text counts by its content; one that
// is streamed counts by what is declared of it, since a known key answers
// without reading it.
//
// It is the hash of the request as encoding/json writes it. What another binary
// wrote is compared with it, so a member that is added must be left out while it
// is empty.
func (r *Request) fingerprint() (string, error) {
	o := stablehash.NewObject()
	text := func(name, value string) {
		if value != "" {
			o.Text(name, value)
		}
	}
	if r.Actor != (postledger.Actor{}) {
		o.Value("actor", r.Actor)
	}
	if len(r.Attachments) > 0 {
		o.Value("attachments", r.printedFiles())
	}
	recipients := func(name string, list []Recipient) {
		if len(list) > 0 {
			o.Value(name, list)
		}
	}
	recipients("bcc", r.Bcc)
	o.Text("category", string(r.category()))
	recipients("cc", r.Cc)
	if d := r.Deadline; !d.IsZero() {
		d.At = d.At.UTC()
		o.Value("deadline", d)
	}
	text("from_name", r.FromName)
	if len(r.Headers) > 0 {
		o.Value("headers", r.Headers)
	}
	text("html", r.HTML)
	o.Text("lane", string(r.lane()))
	text("locale", r.Locale)
	text("message_id", r.MessageID)
	text("profile", r.Profile)
	if r.Ref != (Ref{}) {
		o.Value("ref", r.Ref)
	}
	if len(r.ReplyTo) > 0 {
		o.Value("reply_to", r.ReplyTo)
	}
	if !r.SendAt.IsZero() {
		o.Value("send_at", r.SendAt.UTC())
	}
	text("subject", r.Subject)
	text("tenant", r.Tenant)
	text("text", r.Text)
	recipients("to", r.To)
	h, err := o.Sum()
	if err != nil {
		return "", fmt.Errorf("fingerprint request: %w", err)
	}
	return h.String(), nil
}

func (r *Request) printedFiles() []printedFile {
	files := make([]printedFile, len(r.Attachments))
	for i := range r.Attachments {
		a := &r.Attachments[i]
		m := a.meta()
		f := printedFile{m.Name, m.ContentType, m.Disposition, m.ContentID, m.Method, a.Size, strings.ToLower(a.SHA256)}
		if a.Data != nil {
			sum := sha256.Sum256(a.Data)
			size := int64(len(a.Data))
			f.Size, f.SHA256 = &size, hex.EncodeToString(sum[:])
		}
		files[i] = f
	}
	return files
}

func (r *Request) lane() postledger.Lane {
	if r.Lane == "" {
		return postledger.LaneImmediate
	}
	return r.Lane
}

func (r *Request) category() postledger.Category {
	if r.Category == "" {
		return postledger.CategorySystem
	}
	return r.Category
}
