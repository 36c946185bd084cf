package mime_test

import (
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/mime"
)

// An attached message may be 7bit or must change its type (RFC 2046 §5.2.1).
func TestAttachedMessage(t *testing.T) {
	first := string(wire(t, minimal()))
	withParts := minimal()
	withParts.HTML = "<p>x</p>"
	nested := string(wire(t, withParts))
	for _, tc := range []struct {
		name, content, kind, want string
	}{
		{"clean", first, "message/rfc822", first},
		{"empty", "", "message/rfc822", ""},
		{"unix line ends", "Subject: a\n\nb\n\nc", "message/rfc822", "Subject: a\r\n\r\nb\r\n\r\nc"},
		{"old line ends", "Subject: a\r\rb\r\n", "message/rfc822", "Subject: a\r\n\r\nb\r\n"},
		{"998 octets", strings.Repeat("x", 998), "message/rfc822", strings.Repeat("x", 998)},
		{"999 octets", strings.Repeat("x", 999) + "\r\n", "application/octet-stream", strings.Repeat("x", 999) + "\r\n"},
		{"8-bit", "Subject: é\r\n\r\n", "application/octet-stream", "Subject: é\r\n\r\n"},
		{"NUL", "Subject: \x00\n", "application/octet-stream", "Subject: \x00\n"},
		{"our own boundary", nested, "application/octet-stream", nested},
		{"boundary in the last line", "a\n--" + boundaryIn(t, nested), "application/octet-stream", "a\n--" + boundaryIn(t, nested)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := minimal()
			in.Attachments = []mime.Attachment{file("forwarded.eml", "message/rfc822", []byte(tc.content))}
			root := parts(t, wire(t, in))
			if len(root.children) != 2 {
				t.Fatalf("shape %s", root.shape())
			}
			part := root.children[1]
			if part.kind != tc.kind || part.content != tc.want {
				t.Errorf("got %s %q, want %s %q", part.kind, part.content, tc.kind, tc.want)
			}
			if part.params["name"] != "forwarded.eml" {
				t.Errorf("name %q", part.params["name"])
			}
		})
	}
}

func boundaryIn(t *testing.T, message string) string {
	t.Helper()
	return parts(t, []byte(message)).params["boundary"]
}
