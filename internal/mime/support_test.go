package mime_test

import (
	"bytes"
	"encoding/base64"
	"io"
	stdmime "mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/mime"
)

var seed = []byte("\x01\x93\x4a\x00envelope-id1")

// minimal is an input that composes.
func minimal() *mime.Input {
	return &mime.Input{
		From:      mime.Address{Name: "Nadia Berg", Addr: "nadia@mail.test"},
		To:        []mime.Address{{Addr: "omar@inbox.test"}},
		Subject:   "Your report",
		MessageID: "0193abcd@mail.test",
		Date:      time.Date(2026, 4, 6, 10, 18, 59, 0, time.UTC),
		Text:      "Hello.\r\n",
		Seed:      seed,
	}
}

// file is an attachment with fixed content.
func file(name, contentType string, content []byte) mime.Attachment {
	return mime.Attachment{
		Filename: name, ContentType: contentType, Size: int64(len(content)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// wire composes in and returns its bytes, after checking what holds for every
// message (invariant 10).
func wire(t fataler, in *mime.Input) []byte {
	t.Helper()
	m, err := mime.Compose(in)
	if err != nil {
		t.Fatalf("compose: %v", err)
	}
	defer m.Release()
	return written(t, m)
}

func written(t fataler, m *mime.Message) []byte {
	t.Helper()
	var first, second bytes.Buffer
	n, err := m.WriteTo(&first)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	if n != int64(first.Len()) || n != m.Size() {
		t.Fatalf("wrote %d octets, returned %d, announced %d", first.Len(), n, m.Size())
	}
	if _, err := m.WriteTo(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatalf("second write differs (err %v)", err)
	}
	checkLines(t, first.Bytes())
	return first.Bytes()
}

func checkLines(t fataler, b []byte) {
	t.Helper()
	if !bytes.HasSuffix(b, []byte("\r\n")) {
		t.Fatalf("message does not end with CRLF: %q", b[max(0, len(b)-20):])
	}
	for _, line := range bytes.Split(b[:len(b)-2], []byte("\r\n")) {
		if bytes.ContainsAny(line, "\r\n\x00") {
			t.Fatalf("bare CR, LF or NUL in %q", line)
		}
		if len(line) > 998 {
			t.Fatalf("line of %d octets", len(line))
		}
	}
}

// rawHeader returns the lines of the message's header.
func rawHeader(b []byte) []string {
	head, _, _ := bytes.Cut(b, []byte("\r\n\r\n"))
	return strings.Split(string(head), "\r\n")
}

// longLines returns the header lines over 78 octets.
func longLines(b []byte) (long []string) {
	for _, line := range rawHeader(b) {
		if len(line) > 78 {
			long = append(long, line)
		}
	}
	return long
}

func parse(t fataler, b []byte) *mail.Message {
	t.Helper()
	msg, err := mail.ReadMessage(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("parse: %v\n%s", err, b)
	}
	return msg
}

func subjectOf(t fataler, msg *mail.Message) string {
	t.Helper()
	s, err := new(stdmime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	if err != nil {
		t.Fatalf("decode subject: %v", err)
	}
	return s
}

// node is a part as the standard library sees it.
type node struct {
	kind     string // media type
	params   map[string]string
	header   map[string][]string
	content  string
	children []node
}

func tree(t fataler, header map[string][]string, r io.Reader) node {
	t.Helper()
	get := func(k string) string {
		if v := header[k]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	kind, params, err := stdmime.ParseMediaType(get("Content-Type"))
	if err != nil {
		t.Fatalf("content type %q: %v", get("Content-Type"), err)
	}
	n := node{kind: kind, params: params, header: header}
	if strings.HasPrefix(kind, "multipart/") {
		mr := multipart.NewReader(r, params["boundary"])
		for {
			p, err := mr.NextRawPart()
			if err == io.EOF {
				return n
			}
			if err != nil {
				t.Fatalf("next part of %s: %v", kind, err)
			}
			n.children = append(n.children, tree(t, p.Header, p))
		}
	}
	switch enc := get("Content-Transfer-Encoding"); enc {
	case "quoted-printable":
		r = quotedprintable.NewReader(r)
	case "base64":
		r = base64.NewDecoder(base64.StdEncoding, r)
	case "7bit":
	default:
		t.Fatalf("unknown encoding %q", enc)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read %s: %v", kind, err)
	}
	n.content = string(b)
	return n
}

func parts(t fataler, b []byte) node {
	t.Helper()
	msg := parse(t, b)
	return tree(t, msg.Header, msg.Body)
}

// shape prints the media types of a tree.
func (n node) shape() string {
	if n.children == nil {
		return n.kind
	}
	var kids []string
	for _, c := range n.children {
		kids = append(kids, c.shape())
	}
	return strings.TrimPrefix(n.kind, "multipart/") + "{" + strings.Join(kids, " ") + "}"
}

// fileName is the exact name of an attached part.
func (n node) fileName() string {
	if d := n.header["Content-Disposition"]; len(d) > 0 {
		if _, params, err := stdmime.ParseMediaType(d[0]); err == nil {
			return params["filename"]
		}
	}
	return ""
}

// find returns the first part of a kind.
func (n node) find(t *testing.T, kind string) node {
	t.Helper()
	if n.kind == kind {
		return n
	}
	for _, c := range n.children {
		if strings.Contains(c.shape(), kind) {
			return c.find(t, kind)
		}
	}
	t.Fatalf("no part %s in %s", kind, n.shape())
	return node{}
}

// canonical is a text as it arrives: line ends are CRLF.
func canonical(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r", "\n"), "\n", "\r\n")
}
