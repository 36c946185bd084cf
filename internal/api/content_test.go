package api_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

// Invariant 14: content is read under the scope content and leaves a line.
func TestContent(t *testing.T) {
	w := sqlite(t)
	id := w.sent(with(letter(), "html", "<p>Hi</p>", "headers", []any{map[string]any{"name": "X-Order", "value": "7"}},
		"reply_to", []any{map[string]any{"address": "desk@in.test", "name": "Desk"}}, "from_name", "Shop",
		"attachments", []any{map[string]any{"name": "a.txt", "content": "YWJj"}}))
	a := w.call("GET", "/v1/messages/"+id.String()+"/content", w.content, nil).want(http.StatusOK)
	if a.text("text") != "Good day." || a.text("html") != "<p>Hi</p>" || a.text("headers", 0, "value") != "7" ||
		a.text("reply_to", 0, "name") != "Desk" || a.text("from_name") != "Shop" || a.number("attachments", 0, "size") != 3 {
		t.Errorf("content %s", a.body)
	}
	e, ok := w.lastAudit("content.read")
	if !ok || e.TargetID != id.String() || e.Result != "done" || e.AppID != w.app.ID {
		t.Errorf("line %+v", e)
	}
	w.call("GET", "/v1/messages/"+id.String()+"/content", w.foreign, nil).refused("message_unknown")
	if e, _ := w.lastAudit("content.read"); e.Result != "message_unknown" || e.AppID != w.other.ID {
		t.Errorf("the denial's line %+v", e)
	}
}

// bytesMessage is a message for the sandbox.
type bytesMessage string

func (m bytesMessage) Size() int64 { return int64(len(m)) }

func (m bytesMessage) WriteTo(out io.Writer) (int64, error) {
	n, err := io.WriteString(out, string(m))
	return int64(n), err
}

type wire struct{}

func (wire) Begun([]postledger.Outcome) error { return nil }
func (wire) Answered([]postledger.Outcome)    {}

func TestSandboxMail(t *testing.T) {
	w := sqlite(t)
	id := w.sent(letter())
	path := "/v1/messages/" + id.String() + "/sandbox"
	if a := w.call("GET", path, w.content, nil).want(http.StatusOK); len(a.at("items").([]any)) != 0 {
		t.Errorf("answer %s", a.body)
	}
	v, err := w.ledger.MessageByID(t.Context(), postledger.ID{}, id)
	must(t, err)
	envelope := v.Deliveries[0].EnvelopeID
	w.call("GET", path+"/"+envelope.String(), w.content, nil).refused("sandbox_mail_unknown")
	mail := "Subject: Hello\r\n\r\nGood day.\r\n"
	w.kept.Send(context.Background(), &transport.Envelope{
		ID: envelope, ReturnPath: "desk@send.test", Recipients: []string{"ada@in.test"}, Message: bytesMessage(mail),
	}, wire{})
	a := w.call("GET", path, w.content, nil).want(http.StatusOK)
	if a.text("items", 0, "envelope_id") != envelope.String() || a.text("items", 0, "recipients", 0) != "ada@in.test" || a.number("items", 0, "size") != len(mail) {
		t.Errorf("answer %s", a.body)
	}
	raw := w.call("GET", path+"/"+envelope.String(), w.content, nil).want(http.StatusOK)
	if !bytes.Equal(raw.body, []byte(mail)) || raw.header.Get("Content-Type") != "message/rfc822" ||
		!strings.HasPrefix(raw.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("mail %v %q", raw.header, raw.body)
	}
	if e, ok := w.lastAudit("sandbox.read"); !ok || e.TargetID != id.String() || e.Result != "done" {
		t.Errorf("line %+v", e)
	}
	// An envelope of another message is not shown under this one.
	other := w.sent(letter("bob@in.test"))
	w.call("GET", "/v1/messages/"+other.String()+"/sandbox/"+envelope.String(), w.content, nil).refused("sandbox_mail_unknown")
}
