package main_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/testserver"
)

// mailbox is a Mailpit behind a tap.
type mailbox struct {
	t *testing.T
	*tap
	url string
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	addr, url := testserver.Mailpit(t)
	return &mailbox{t, newTap(t, addr), url}
}

// received is a message as Mailpit has read it.
type received struct {
	ID, MessageID, Subject, Text, HTML, ReturnPath string
	From                                           mail.Address
	To, Cc, Bcc, ReplyTo                           []mail.Address
	Date                                           time.Time
	Inline, Attachments                            []receivedFile
}

type receivedFile struct{ PartID, FileName, ContentType, ContentID string }

func (m *mailbox) get(path string) []byte {
	m.t.Helper()
	resp, err := http.Get(m.url + "/api/v1/" + path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		m.t.Fatalf("%s: %s, %v: %s", path, resp.Status, err, b)
	}
	return b
}

func (m *mailbox) read(path string, out any) {
	m.t.Helper()
	if err := json.Unmarshal(m.get(path), out); err != nil {
		m.t.Fatalf("%s: %v", path, err)
	}
}

// only is the one message to an address.
func (m *mailbox) only(to string) received {
	m.t.Helper()
	var found struct{ Messages []struct{ ID string } }
	m.read("search?query="+url.QueryEscape("addressed:"+to), &found)
	if len(found.Messages) != 1 {
		m.t.Fatalf("%d messages to %s, want 1", len(found.Messages), to)
	}
	var out received
	m.read("message/"+found.Messages[0].ID, &out)
	return out
}

// mailed starts a server whose default profile sends to the mailbox. The flags
// are further ones of its profile.
func (m *mailbox) mailed(p place, flags ...string) *client.Client {
	m.t.Helper()
	s := p.start(m.t)
	host, port, _ := strings.Cut(m.addr, ":")
	command(m.t, s.operator(m.t), append([]string{
		"profiles", "put", "out", "--from", "shop@example.org", "--from-name", "Späti & Söhne",
		"--transport", "smtp", "--host", host, "--port", port, "--tls", "none",
	}, flags...)...).expect(m.t, 0)
	return s.client(m.t, s.appKey(m.t, "shop"))
}

// sent sends a message and waits until all its recipients have it.
func sent(t *testing.T, c *client.Client, m *client.Message) *client.Accepted {
	t.Helper()
	a, err := c.Send(t.Context(), m, client.Wait(client.MaxWait))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.To) + len(m.Cc) + len(m.Bcc); a.Counts[postledger.StatusSent] != n || len(a.Removed) != 0 {
		t.Fatalf("%+v", a)
	}
	return a
}

// same compares what arrived with what was given.
func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if !bytes.Equal(g, w) {
		t.Errorf("%s: %s arrived, %s was given", what, g, w)
	}
}

const invitation = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//Shop//EN\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\n" +
	"UID:tasting-1@example.org\r\nDTSTAMP:20260102T090000Z\r\nDTSTART:20260201T180000Z\r\nDTEND:20260201T190000Z\r\n" +
	"SUMMARY:Käseprobe\r\nORGANIZER:mailto:shop@example.org\r\nATTENDEE:mailto:ada@example.com\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

// Everything a message can have arrives at a mail server as it was given, and
// the hidden recipient is in the envelope only (invariant 10).
func TestMailArrivesAsGiven(t *testing.T) {
	t.Parallel()
	box := newMailbox(t)
	c := box.mailed(newPlace(t))
	mark := strings.ToLower(rand.Text())
	ada, bob, eve := "ada-"+mark+"@example.com", "bob-"+mark+"@example.com", "eve-"+mark+"@example.com"
	picture, table := make([]byte, 10_000), make([]byte, 100_000)
	_, _ = rand.Read(picture) // it never fails
	_, _ = rand.Read(table)
	logo := client.Bytes("zeichen.png", "image/png", picture)
	logo.Disposition, logo.ContentID = "inline", "logo@example.org"
	invite := client.Bytes("einladung.ics", "text/calendar", []byte(invitation))
	invite.Method = "REQUEST"
	m := &client.Message{
		To:      []client.Recipient{{Address: ada, Name: "Ada Lövelace, Gräfin"}},
		Cc:      []client.Recipient{{Address: bob, Name: `Bob "der Bär"`}},
		Bcc:     []client.Recipient{{Address: eve, Name: "Eve Verborgen"}},
		Subject: "Ihre Käseprobe 🧀 am Sonntag, dem ersten Februar, im Späti an der Ecke: wir freuen uns",
		Text:    "Grüße!\n.\nFrom hier an\n" + strings.Repeat("lang ", 400) + "\n",
		HTML:    `<p>Grüße! <img src="cid:logo@example.org" alt="Zeichen"></p>`,
		ReplyTo: []postledger.Mailbox{{Name: "Frau Müller", Address: "mueller@example.org"}, {Address: "laden@example.org"}},
		Headers: []postledger.Header{{Name: "X-Order", Value: "Nr. 4711 für Ada"}},
		Attachments: []client.Attachment{
			logo, invite,
			client.Bytes("Preisliste für Käse – 2026.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", table),
		},
	}
	a := sent(t, c, m)
	stored, err := c.Message(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}

	got := box.only(ada)
	same(t, "from", got.From, mail.Address{Name: "Späti & Söhne", Address: "shop@example.org"})
	same(t, "to", got.To, addresses(m.To))
	same(t, "cc", got.Cc, addresses(m.Cc))
	same(t, "reply_to", got.ReplyTo, []mail.Address{{Name: "Frau Müller", Address: "mueller@example.org"}, {Address: "laden@example.org"}})
	same(t, "subject", got.Subject, m.Subject)
	same(t, "text", strings.ReplaceAll(got.Text, "\r\n", "\n"), m.Text)
	same(t, "html", strings.TrimRight(strings.ReplaceAll(got.HTML, "\r\n", "\n"), "\n"), m.HTML)
	same(t, "date", got.Date.UTC(), stored.CreatedAt.UTC().Truncate(time.Second))

	raw := box.get("message/" + got.ID + "/raw")
	top, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	order, err := new(mime.WordDecoder).DecodeHeader(top.Header.Get("X-Order"))
	if err != nil {
		t.Error(err)
	}
	same(t, "X-Order", order, m.Headers[0].Value)
	for _, name := range []string{"Date", "Message-Id", "From", "To", "Cc", "Subject", "Mime-Version"} {
		same(t, "number of "+name, len(top.Header[name]), 1)
	}

	if len(got.Inline) != 1 {
		t.Fatalf("inline: %+v", got.Inline)
	}
	same(t, "inline", got.Inline[0], receivedFile{got.Inline[0].PartID, logo.Name, logo.ContentType, logo.ContentID})
	same(t, "inline content", box.get("message/"+got.ID+"/part/"+got.Inline[0].PartID), picture)
	i := slices.IndexFunc(got.Attachments, func(f receivedFile) bool { return f.FileName == m.Attachments[2].Name })
	if i < 0 {
		t.Fatalf("attachments: %+v", got.Attachments)
	}
	same(t, "attachment's type", got.Attachments[i].ContentType, m.Attachments[2].ContentType)
	same(t, "attachment's content", box.get("message/"+got.ID+"/part/"+got.Attachments[i].PartID), table)

	// It is the invitation that a mail program acts on, and a file to keep.
	want := []calendar{{"REQUEST", invitation}, {"", invitation}}
	if calendars := calendarsOf(t, top.Header.Get("Content-Type"), top.Body); !slices.Equal(calendars, want) {
		t.Errorf("calendar parts: %+v", calendars)
	}

	// The tap saw what Mailpit got; Mailpit itself adds fields to what it keeps.
	copies := 0
	commands := ""
	for before, rest, ok := strings.Cut(box.wire(), "DATA\r\n"); ok; before, rest, ok = strings.Cut(rest, "DATA\r\n") {
		body, after, _ := strings.Cut(rest, "\r\n.\r\n")
		if low := strings.ToLower(body); strings.Contains(low, "bcc:") || strings.Contains(low, "eve-") || strings.Contains(low, "verborgen") {
			t.Error("a copy shows the hidden recipient")
		}
		commands += before
		copies++
		rest = after
	}
	if copies == 0 {
		t.Fatal("the tap saw no message")
	}
	for _, to := range []string{ada, bob, eve} {
		same(t, "RCPT of "+to, strings.Count(commands, "RCPT TO:<"+to+">"), 1)
	}
	same(t, "who got the hidden copy", box.only(eve).Bcc, []mail.Address{{Address: eve}})
}

func addresses(list []client.Recipient) []mail.Address {
	var out []mail.Address
	for _, r := range list {
		out = append(out, mail.Address{Name: r.Name, Address: r.Address})
	}
	return out
}

type calendar struct{ method, content string }

// calendarsOf finds the calendar parts of a body, however deep.
func calendarsOf(t *testing.T, contentType string, body io.Reader) (out []calendar) {
	t.Helper()
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(kind, "multipart/") {
		return nil
	}
	for parts := multipart.NewReader(body, params["boundary"]); ; {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text := part.Header.Get("Content-Type")
		kind, params, err := mime.ParseMediaType(text)
		if err != nil {
			t.Fatal(err)
		}
		if kind != "text/calendar" {
			out = append(out, calendarsOf(t, text, part)...)
			continue
		}
		content, err := io.ReadAll(decoded(part))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, calendar{params["method"], string(content)})
	}
}

// A signature by a key that the program made, checked by a program that shares
// no code with it, against the line it printed for the zone.
func TestMailIsSigned(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"rsa", "ed25519"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			box := newMailbox(t)
			p := newPlace(t)
			keyFile := p.dir + "/dkim.pem"
			zone := p.run(t, "keys", "dkim", "--domain", "example.org", "--selector", "s1", "--algorithm", algorithm, "--out", keyFile).expect(t, 0).stdout
			name, text, ok := strings.Cut(lastLine(zone), ". IN TXT (")
			if !ok {
				t.Fatalf("no line of a zone: %s", zone)
			}
			var record strings.Builder
			for i, piece := range strings.Split(text, `"`) {
				if i%2 == 1 {
					record.WriteString(piece)
				}
			}
			c := box.mailed(p, "--dkim-domain", "example.org", "--dkim-selector", "s1", "--dkim-key-file", keyFile)
			to := "ada-" + strings.ToLower(rand.Text()) + "@example.com"
			sent(t, c, &client.Message{
				To: client.To(to), Subject: "Grüße aus dem Späti", Text: "Grüße!\n\n.\n\n", HTML: "<p>Grüße!</p>",
				Attachments: []client.Attachment{client.Bytes("a.bin", "", bytes.Repeat([]byte{0, 255, 10}, 5000))},
			})
			raw := box.get("message/" + box.only(to).ID + "/raw")
			records := map[string]string{name: record.String()}
			signatures := testserver.DKIMVerify(t, raw, records)
			want := testserver.DKIMSignature{Domain: "example.org", Selector: "s1", Algorithm: algorithm + "-sha256", Valid: true}
			if len(signatures) != 1 || signatures[0] != want {
				t.Errorf("signatures: %+v", signatures)
			}
			changed := bytes.Replace(raw, []byte("From: "), []byte("From: X"), 1)
			if forged := testserver.DKIMVerify(t, changed, records); len(forged) != 1 || forged[0].Valid {
				t.Errorf("of a changed message: %+v", forged)
			}
		})
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
