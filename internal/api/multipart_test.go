package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
)

// part is one part of a multipart body.
type part struct{ name, content string }

func multipartBody(t *testing.T, parts ...part) (body *bytes.Buffer, contentType string) {
	t.Helper()
	body = new(bytes.Buffer)
	mw := multipart.NewWriter(body)
	for _, p := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + p.name + `"; filename="0"`}}
		if p.name == "message" {
			h = textproto.MIMEHeader{"Content-Disposition": {`form-data; name="message"`}, "Content-Type": {"application/json"}}
		}
		pw, err := mw.CreatePart(h)
		must(t, err)
		_, err = io.WriteString(pw, p.content)
		must(t, err)
	}
	must(t, mw.Close())
	return body, mw.FormDataContentType()
}

func (w *world) multipart(parts []part, headers ...string) *answer {
	w.t.Helper()
	body, ct := multipartBody(w.t, parts...)
	return w.call("POST", "/v1/messages", w.send, body, append([]string{"Content-Type", ct}, headers...)...)
}

func attached(files ...any) string {
	text, err := json.Marshal(with(letter(), "attachments", append([]any{}, files...)))
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestMultipart(t *testing.T) {
	w := sqlite(t)
	one, two := strings.Repeat("a", 300_000), "second"
	sum := sha256.Sum256([]byte(two))
	message := attached(
		map[string]any{"name": "a.txt", "content_type": "text/plain"},
		map[string]any{"name": "b.bin", "size": len(two), "sha256": hex.EncodeToString(sum[:])})
	parts := []part{{"message", message}, {"attachment", one}, {"attachment", two}}
	a := w.multipart(parts, "Idempotency-Key", "m-1").want(http.StatusAccepted)
	c := w.call("GET", "/v1/messages/"+a.text("id")+"/content", w.content, nil).want(http.StatusOK)
	if c.number("attachments", 0, "size") != len(one) || c.text("attachments", 1, "sha256") != hex.EncodeToString(sum[:]) ||
		c.text("attachments", 0, "content_type") != "text/plain" || c.text("attachments", 1, "name") != "b.bin" {
		t.Errorf("content %s", c.body)
	}
	if strings.Contains(string(c.body), a.text("id")+"/0") {
		t.Errorf("the key of the blob is shown: %s", c.body)
	}
	rc, err := w.blobs.Open(t.Context(), w.app.ID.String()+"/"+a.text("id")+"/0")
	must(t, err)
	stored, err := io.ReadAll(rc)
	must(t, err)
	must(t, rc.Close())
	if string(stored) != one {
		t.Errorf("%d bytes are stored", len(stored))
	}
	// A known key is answered without the files.
	if again := w.multipart(parts[:1], "Idempotency-Key", "m-1").want(http.StatusAccepted); again.text("id") != a.text("id") {
		t.Errorf("replay %s", again.body)
	}
	// Without files it is a message like any other.
	w.multipart([]part{{"message", attached()}}).want(http.StatusAccepted)
}

func TestMultipartRefuses(t *testing.T) {
	w := sqlite(t)
	message := attached(map[string]any{"name": "a.txt"})
	for name, test := range map[string]struct {
		parts []part
		want  string
	}{
		"nothing":                      {nil, "message required"},
		"a file first":                 {[]part{{"attachment", "x"}, {"message", message}}, "message order"},
		"no file":                      {[]part{{"message", message}}, "attachments[0] required"},
		"a file too many":              {[]part{{"message", message}, {"attachment", "x"}, {"attachment", "y"}}, "attachments mismatch"},
		"a file that nobody names":     {[]part{{"message", attached()}, {"attachment", "x"}}, "attachments mismatch"},
		"another part for the file":    {[]part{{"message", message}, {"file", "x"}}, "attachments[0] order"},
		"the message is broken":        {[]part{{"message", "{"}, {"attachment", "x"}}, "json"},
		"the message has a fault":      {[]part{{"message", `{"too":1}`}}, "too unknown"},
		"the content is there twice":   {[]part{{"message", attached(map[string]any{"name": "a", "content": "YQ=="})}, {"attachment", "x"}}, "attachments[0].content not_allowed"},
		"another size":                 {[]part{{"message", attached(map[string]any{"name": "a", "size": 3})}, {"attachment", "x"}}, "attachments[0].size mismatch"},
		"another sum":                  {[]part{{"message", attached(map[string]any{"name": "a", "sha256": strings.Repeat("0", 64)})}, {"attachment", "x"}}, "attachments[0].sha256 mismatch"},
		"a second file without a name": {[]part{{"message", attached(map[string]any{"name": "a"}, map[string]any{})}, {"attachment", "x"}, {"attachment", "y"}}, "attachments[1].name required"},
	} {
		w.run(name, func(t *testing.T) {
			w.multipart(test.parts).refused("bad_input", test.want)
			if left, err := w.blobs.List(t.Context(), "", "", 10); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
	body, ct := multipartBody(t, part{"message", message}, part{"attachment", strings.Repeat("x", 5000)})
	w.call("POST", "/v1/messages", w.send, io.LimitReader(body, int64(body.Len()-1000)), "Content-Type", ct).refused("bad_input")
	w.call("POST", "/v1/messages", w.send, strings.NewReader("no parts at all"), "Content-Type", ct).refused("bad_input")
	big := with(letter(), "attachments", []any{map[string]any{"name": "big", "size": 26 << 20}})
	text, err := json.Marshal(big)
	must(t, err)
	w.multipart([]part{{"message", string(text)}, {"attachment", "x"}}).refused("attachments_too_large")
	if left, err := w.blobs.List(t.Context(), "", "", 10); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
