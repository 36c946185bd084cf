package mime_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/mime"
)

func TestPlainMessage(t *testing.T) {
	want := strings.Join([]string{
		"From: Nadia Berg <nadia@mail.test>",
		"To: omar@inbox.test",
		"Subject: Your report",
		"Date: Mon, 06 Apr 2026 10:18:59 +0000",
		"Message-ID: <0193abcd@mail.test>",
		"Auto-Submitted: auto-generated",
		"MIME-Version: 1.0",
		"Content-Type: text/plain; charset=utf-8",
		"Content-Transfer-Encoding: quoted-printable",
		"",
		"Hello.",
		"",
	}, "\r\n")
	if got := string(wire(t, minimal())); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestShape(t *testing.T) {
	picture := file("logo.png", "image/png", []byte("png"))
	picture.Disposition, picture.ContentID = mime.DispositionInline, "logo@mail.test"
	invite := file("invite.ics", "text/calendar", []byte("BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n"))
	invite.Method = "request"
	silent := invite
	silent.Disposition = mime.DispositionInline
	report := file("report.pdf", "application/pdf", bytes.Repeat([]byte("%PDF"), 1000))

	for _, tc := range []struct {
		name        string
		text, html  string
		attachments []mime.Attachment
		want        string
	}{
		{"nothing", "", "", nil, "text/plain"},
		{"text", "t", "", nil, "text/plain"},
		{"html", "", "h", nil, "text/html"},
		{"both", "t", "h", nil, "alternative{text/plain text/html}"},
		{"picture", "t", "h", []mime.Attachment{picture}, "alternative{text/plain related{text/html image/png}}"},
		{"picture without html", "t", "", []mime.Attachment{picture}, "mixed{text/plain image/png}"},
		{"html and picture", "", "h", []mime.Attachment{picture}, "related{text/html image/png}"},
		{"file", "t", "", []mime.Attachment{report}, "mixed{text/plain application/pdf}"},
		{"file alone", "", "", []mime.Attachment{report}, "mixed{application/pdf}"},
		{"invitation alone", "", "", []mime.Attachment{silent}, "text/calendar"},
		{"invitation", "t", "", []mime.Attachment{silent}, "alternative{text/plain text/calendar}"},
		{
			"invitation as file too", "t", "h",
			[]mime.Attachment{invite},
			"mixed{alternative{text/plain text/html text/calendar} text/calendar}",
		},
		{
			"everything", "t", "h",
			[]mime.Attachment{picture, invite, report},
			"mixed{alternative{text/plain related{text/html image/png} text/calendar} text/calendar application/pdf}",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := minimal()
			in.Text, in.HTML, in.Attachments = tc.text, tc.html, tc.attachments
			root := parts(t, wire(t, in))
			if got := root.shape(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestInvitation(t *testing.T) {
	content := "BEGIN:VCALENDAR\r\nMETHOD:CANCEL\r\nEND:VCALENDAR\r\n"
	a := file("invite.ics", "text/calendar", []byte(content))
	a.Method = "cancel"
	in := minimal()
	in.Attachments = []mime.Attachment{a}
	root := parts(t, wire(t, in))

	form := root.children[0].find(t, "text/calendar")
	if form.params["method"] != "CANCEL" || form.params["charset"] != "utf-8" || form.content != content {
		t.Errorf("alternative: %v %q", form.params, form.content)
	}
	if form.header["Content-Disposition"] != nil {
		t.Errorf("the alternative asks to be a file: %v", form.header)
	}
	attached := root.children[1]
	if attached.params["method"] != "" || attached.params["name"] != "invite.ics" || attached.content != content {
		t.Errorf("file: %v %q", attached.params, attached.content)
	}
}

func TestRelatedNamesItsRoot(t *testing.T) {
	a := file("", "image/gif", []byte("GIF89a"))
	a.Disposition, a.ContentID = mime.DispositionInline, "dot"
	in := minimal()
	in.Text, in.HTML = "", `<img src="cid:dot">`
	in.Attachments = []mime.Attachment{a}
	root := parts(t, wire(t, in))
	if root.params["type"] != "text/html" {
		t.Errorf("type = %q", root.params["type"])
	}
	if got := root.children[1].header["Content-Id"]; len(got) != 1 || got[0] != "<dot>" {
		t.Errorf("content id %q", got)
	}
}

func TestAttachmentContent(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 56, 57, 58, 114, 7295, 7296, 7297, 20000} {
		content := bytes.Repeat([]byte{0, '\r', 'x', '\n', 0xff, '-', '-'}, n/7+1)[:n]
		in := minimal()
		in.Attachments = []mime.Attachment{file("a.bin", "", content), file("b.bin", "", content)}
		root := parts(t, wire(t, in))
		for _, p := range root.children[1:] {
			if p.kind != "application/octet-stream" || p.content != string(content) {
				t.Errorf("%d octets came back as %d of %s", n, len(p.content), p.kind)
			}
		}
	}
}

func TestSameBytesFromAReusedBuffer(t *testing.T) {
	big := minimal()
	big.HTML = strings.Repeat("<p>é</p>\n", 500)
	big.Attachments = []mime.Attachment{file("a", "", []byte("aaa"))}
	big.Cc = []mime.Address{{Addr: "jürgen@inbox.test"}}
	want := wire(t, minimal())
	var c mime.Composer
	for range 3 {
		m, err := c.Compose(big)
		if err != nil {
			t.Fatal(err)
		}
		if !m.NeedsSMTPUTF8() || m.MemorySize() < 500*13 {
			t.Errorf("smtputf8 %v, memory %d", m.NeedsSMTPUTF8(), m.MemorySize())
		}
		m.Release()
		m, err = c.Compose(minimal())
		if err != nil {
			t.Fatal(err)
		}
		if got := written(t, m); !bytes.Equal(got, want) || m.NeedsSMTPUTF8() {
			t.Errorf("got\n%s", got)
		}
		m.Release()
	}
}

func TestDateDoesNotDependOnTheZone(t *testing.T) {
	want := wire(t, minimal())
	in := minimal()
	in.Date = in.Date.In(time.FixedZone("x", 5*3600+1800)).Add(999 * time.Millisecond)
	if got := wire(t, in); !bytes.Equal(got, want) {
		t.Errorf("got\n%s", got)
	}
}

func TestContentThatChanges(t *testing.T) {
	open := func(s string) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }
	}
	gone := errors.New("gone")
	for _, tc := range []struct {
		name, kind string
		first      func() (io.ReadCloser, error)
		then       func() (io.ReadCloser, error)
		want       error
	}{
		{"shorter", "", open("12345"), open("1234"), mime.ErrContentChanged},
		{"longer", "", open("12345"), open("123456"), mime.ErrContentChanged},
		{"missing", "", open("12345"), func() (io.ReadCloser, error) { return nil, gone }, gone},
		{"message shorter", "message/rfc822", open("12345"), open("1234"), mime.ErrContentChanged},
		{"message longer", "message/rfc822", open("12345"), open("123456"), mime.ErrContentChanged},
		{"message not 7-bit any more", "message/rfc822", open("12345"), open("123\xc3\xa9"), mime.ErrContentChanged},
	} {
		t.Run(tc.name, func(t *testing.T) {
			current := tc.first
			in := minimal()
			in.Attachments = []mime.Attachment{{
				ContentType: tc.kind, Size: 5,
				Open: func() (io.ReadCloser, error) { return current() },
			}}
			m, err := mime.Compose(in)
			if err != nil {
				t.Fatal(err)
			}
			current = tc.then
			_, err = m.WriteTo(io.Discard)
			var ae *mime.AttachmentError
			if !errors.As(err, &ae) || ae.Index != 0 || !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

type brokenWriter struct{ after int }

var errBroken = errors.New("connection reset")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if len(p) > w.after {
		return w.after, errBroken
	}
	w.after -= len(p)
	return len(p), nil
}

func TestWriterErrorsAreNotTheAttachments(t *testing.T) {
	in := minimal()
	in.Attachments = []mime.Attachment{
		file("a", "", bytes.Repeat([]byte("x"), 9000)),
		file("b.eml", "message/rfc822", []byte("Subject: x\n\nhello\n")),
	}
	m, err := mime.Compose(in)
	if err != nil {
		t.Fatal(err)
	}
	for after := range int(m.Size()) {
		n, err := m.WriteTo(&brokenWriter{after})
		var ae *mime.AttachmentError
		if !errors.Is(err, errBroken) || errors.As(err, &ae) || n != int64(after) {
			t.Fatalf("after %d octets: wrote %d, error %v", after, n, err)
		}
	}
}

func TestNoRecipientShown(t *testing.T) {
	in := minimal()
	in.To = nil
	msg := parse(t, wire(t, in))
	list, err := msg.Header.AddressList("To")
	if err != nil || len(list) != 0 || msg.Header.Get("To") != "undisclosed-recipients:;" {
		t.Errorf("To: %q %v %v", msg.Header.Get("To"), list, err)
	}
}
