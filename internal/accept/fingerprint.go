package accept

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/stablehash"
)

// printed is a request as its fingerprint sees it: without its key, with
// defaults filled in, times in UTC, and files by what is declared of them.
type printed struct {
	Request
	Attachments []printedFile `json:"attachments,omitempty"`
}

type printedFile struct {
	Name        string `json:"name"`
	ContentType string `json:"content_type"`
	Disposition string `json:"disposition"`
	ContentID   string `json:"content_id"`
	Method      string `json:"method"`
	Size        *int64 `json:"size"`
	SHA256      string `json:"sha256"`
}

// copied is how large a body may be to be copied for its fingerprint. A larger
// one is hashed where it is, which is slower for small ones and comes to the same.
const copied = 64 << 10

// fingerprint identifies what a key was used for. A file that is part of the
// request's own text counts by its content; one that is streamed counts by
// what is declared of it, since a known key answers without reading it.
func (r *Request) fingerprint() (string, error) {
	v := printed{Request: *r}
	v.Key = ""
	v.Request.Attachments = nil
	var large []stablehash.Text
	for _, b := range []struct {
		name string
		text *string
	}{{"text", &v.Text}, {"html", &v.HTML}} {
		if len(*b.text) > copied {
			large = append(large, stablehash.Text{Name: b.name, Value: *b.text})
			*b.text = ""
		}
	}
	v.Lane, v.Category = r.lane(), r.category()
	v.SendAt, v.Deadline.At = r.SendAt.UTC(), r.Deadline.At.UTC()
	for i := range r.Attachments {
		a := &r.Attachments[i]
		m := a.meta()
		f := printedFile{m.Name, m.ContentType, m.Disposition, m.ContentID, m.Method, a.Size, strings.ToLower(a.SHA256)}
		if a.Data != nil {
			sum := sha256.Sum256(a.Data)
			size := int64(len(a.Data))
			f.Size, f.SHA256 = &size, hex.EncodeToString(sum[:])
		}
		v.Attachments = append(v.Attachments, f)
	}
	h, err := stablehash.SumTexts(v, large...)
	if err != nil {
		return "", fmt.Errorf("fingerprint request: %w", err)
	}
	return h.String(), nil
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
