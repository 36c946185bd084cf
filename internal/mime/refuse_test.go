package mime_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/mime"
)

// Every refusal names the field and the rule and does not repeat the value.
func TestRefusals(t *testing.T) {
	attach := func(change func(*mime.Attachment)) func(*mime.Input) {
		return func(in *mime.Input) {
			a := file("a.txt", "text/plain", nil)
			change(&a)
			in.Attachments = []mime.Attachment{file("b", "", nil), a}
		}
	}
	header := func(name, value string) func(*mime.Input) {
		return func(in *mime.Input) {
			in.Headers = []mime.Header{{Name: "X-Fine", Value: "1"}, {Name: name, Value: value}}
		}
	}
	address := func(a string) func(*mime.Input) {
		return func(in *mime.Input) { in.Cc = []mime.Address{{Addr: "ok@inbox.test"}, {Addr: a}} }
	}
	for _, tc := range []struct {
		change func(*mime.Input)
		want   string
	}{
		{func(in *mime.Input) { in.From = mime.Address{} }, "from.address: is empty"},
		{func(in *mime.Input) { in.From.Name = "secret\x00" }, "from.name: contains a NUL"},
		{func(in *mime.Input) { in.From.Name = "secret\x1b" }, "from.name: contains a control character"},
		{func(in *mime.Input) { in.From.Name = "secret\xff" }, "from.name: is not valid UTF-8"},
		{func(in *mime.Input) { in.Subject = "secret\rx" }, "subject: contains a line break"},
		{func(in *mime.Input) { in.ReplyTo = []mime.Address{{Addr: "secret"}} }, "reply_to[0].address: has no @"},
		{address("secret@"), "cc[1].address: has a domain that is neither a host name nor an address literal"},
		{address("@secret.test"), "cc[1].address: has a local part that is neither a dot-atom nor a quoted string"},
		{address("secret x@a.test"), "cc[1].address: has a local part that is neither a dot-atom nor a quoted string"},
		{address("secret>,<x@a.test"), "cc[1].address: has a local part that is neither a dot-atom nor a quoted string"},
		{address(`"secret"x"@a.test`), "cc[1].address: has a local part that is neither a dot-atom nor a quoted string"},
		{address("secret\n@a.test"), "cc[1].address: contains a line break"},
		{address(strings.Repeat("s", 65) + "@a.test"), "cc[1].address: has a local part of more than 64 octets"},
		{address("x@" + strings.Repeat("secret.", 40) + "test"), "cc[1].address: has a domain of more than 255 octets"},
		{address("secret@æ.test"), "cc[1].address: has a domain that is not in A-label form"},
		{address("secret@a..test"), "cc[1].address: has a domain that is neither a host name nor an address literal"},
		{address("secret@-a.test"), "cc[1].address: has a domain that is neither a host name nor an address literal"},
		{address("secret@[1.2]>"), "cc[1].address: has a domain that is neither a host name nor an address literal"},
		{func(in *mime.Input) { in.MessageID = "" }, "message_id: has no @"},
		{func(in *mime.Input) { in.MessageID = strings.Repeat("secret", 90) + "@a" }, "message_id: is longer than 512 octets"},
		{func(in *mime.Input) { in.Date = time.Time{} }, "date: is missing or out of range"},
		{func(in *mime.Input) { in.Date = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "date: is missing or out of range"},
		{func(in *mime.Input) { in.Text = "secret\xfe" }, "text: is not valid UTF-8"},
		{func(in *mime.Input) { in.HTML = "secret\xfe" }, "html: is not valid UTF-8"},
		{func(in *mime.Input) { in.Seed = nil }, "seed: is empty"},
		{header("", "secret"), "headers[1].name: is empty"},
		{header("X secret", "1"), "headers[1].name: may only have printable ASCII other than a colon"},
		{header("X:secret", "1"), "headers[1].name: may only have printable ASCII other than a colon"},
		{header("X-é-secret", "1"), "headers[1].name: may only have printable ASCII other than a colon"},
		{header("X-"+strings.Repeat("secret", 20), "1"), "headers[1].name: is longer than 76 octets"},
		{header("X-A", "secret\r\nBcc: x"), "headers[1].value: contains a line break"},
		{header("x-fine", ""), ""},
		{header("In-Reply-To", "<é@secret.test>"), "headers[1].value: must be printable ASCII"},
		{header("References", "<"+strings.Repeat("secret", 160)+"@a>"), "headers[1].value: has a word of more than 900 octets"},
		{func(in *mime.Input) {
			in.Headers = []mime.Header{{Name: "Auto-Submitted", Value: "no"}, {Name: "auto-submitted", Value: "secret"}}
		}, "headers[1].name: may occur only once"},
		{func(in *mime.Input) { in.Added = []mime.Header{{Name: "Subject", Value: "secret"}} }, "added[0].name: is reserved"},
		{func(in *mime.Input) {
			in.Added = []mime.Header{{Name: "List-Unsubscribe", Value: "<https://é.secret>"}}
		}, "added[0].value: must be printable ASCII"},
		{func(in *mime.Input) {
			in.Added = []mime.Header{{Name: "List-Unsubscribe", Value: "<a:secret>"}, {Name: "List-unsubscribe", Value: "<b:>"}}
		}, "added[1].name: may occur only once"},
		{attach(func(a *mime.Attachment) { a.Filename = "secret\n.txt" }), "attachments[1].filename: contains a line break"},
		{attach(func(a *mime.Attachment) { a.ContentType = "secret" }), "attachments[1].content_type: is not a media type"},
		{attach(func(a *mime.Attachment) { a.ContentType = "a/" + strings.Repeat("x", 128) }), "attachments[1].content_type: is not a media type"},
		{attach(func(a *mime.Attachment) { a.ContentType = "a/" + strings.Repeat("x", 127) }), ""},
		{attach(func(a *mime.Attachment) {
			a.ContentType = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
		}), ""},
		{attach(func(a *mime.Attachment) { a.ContentType = "a/b; secret" }), "attachments[1].content_type: is not a media type with parameters"},
		{attach(func(a *mime.Attachment) { a.ContentType = "a/b\r\nsecret: 1" }), "attachments[1].content_type: contains a line break"},
		{attach(func(a *mime.Attachment) { a.ContentType = "a/b; x*=utf-8''%0d%0asecret" }), "attachments[1].content_type: contains a line break"},
		{attach(func(a *mime.Attachment) { a.ContentType = "multipart/mixed; boundary=secret" }), "attachments[1].content_type: must not be multipart: the parts would have no boundary"},
		{attach(func(a *mime.Attachment) { a.ContentType = "a/b; " + strings.Repeat("x", 31) + "=1" }), "attachments[1].content_type: has a parameter name of more than 30 octets"},
		{attach(func(a *mime.Attachment) { a.Disposition = 7 }), "attachments[1].disposition: is neither attachment nor inline"},
		{attach(func(a *mime.Attachment) { a.ContentID = "a>secret" }), "attachments[1].content_id: may only have the characters of a Message-ID"},
		{attach(func(a *mime.Attachment) { a.ContentID = strings.Repeat("secret", 50) }), "attachments[1].content_id: is longer than 255 octets"},
		{attach(func(a *mime.Attachment) { a.Method = "REQUEST" }), "attachments[1].method: needs the content type text/calendar"},
		{attach(func(a *mime.Attachment) { a.ContentType, a.Method = "text/calendar", "a\r\nb" }), "attachments[1].method: is not a calendar method"},
		{attach(func(a *mime.Attachment) { a.Size = -1 }), "attachments[1].size: is negative"},
		{attach(func(a *mime.Attachment) { a.Open = nil }), "attachments[1].open: is missing"},
		{func(in *mime.Input) {
			a := file("a", "image/png", nil)
			a.ContentID = "secret@a"
			in.Attachments = []mime.Attachment{a, a}
		}, "attachments[1].content_id: is used twice"},
	} {
		in := minimal()
		tc.change(in)
		m, err := mime.Compose(in)
		if tc.want == "" {
			if err != nil {
				t.Errorf("refused: %v", err)
			}
			continue
		}
		var fe *mime.FieldError
		if m != nil || !errors.As(err, &fe) || err.Error() != tc.want {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
}

func TestReservedNames(t *testing.T) {
	for _, name := range strings.Fields(`from FROM Sender To Cc Bcc bCc Date Message-ID message-id Subject
		Reply-To MIME-Version Content-Type Content-Anything Received Received-SPF Return-Path DKIM-Signature
		ARC-Seal Authentication-Results Resent-From Resent-Bcc List-Unsubscribe List-Unsubscribe-Post
		X-SMTPAPI X-Mailgun-Tag X-SES-Configuration-Set X-PM-Tag X-Mailin-Custom Resend-Idempotency-Key`) {
		if err := mime.CheckHeader(mime.Header{Name: name, Value: "1"}); err == nil || err.Error() != "name: is reserved" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"X-Ref", "References", "Feedback-ID", "X-Auto-Response-Suppress", "Importance"} {
		if err := mime.CheckHeader(mime.Header{Name: name, Value: "1"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAttachedMessageThatCannotBeRead(t *testing.T) {
	boom := errors.New("boom")
	for _, tc := range []struct {
		open func() (io.ReadCloser, error)
		want error
	}{
		{func() (io.ReadCloser, error) { return nil, boom }, boom},
		{func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("abcd")), nil }, mime.ErrContentChanged},
	} {
		in := minimal()
		in.Attachments = []mime.Attachment{{ContentType: "message/rfc822", Size: 3, Open: tc.open}}
		_, err := mime.Compose(in)
		var ae *mime.AttachmentError
		if !errors.As(err, &ae) || !errors.Is(err, tc.want) {
			t.Errorf("got %v, want %v", err, tc.want)
		}
	}
}
