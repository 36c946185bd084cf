package client_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

func TestRealSend(t *testing.T) {
	s, ctx := start(t), t.Context()
	m := &client.Message{
		To: []client.Recipient{{Address: "Mira@rcv.test", Name: "Mira"}}, Cc: client.To("olaf@rcv.test"), Bcc: client.To("jo@rcv.test"),
		Subject: "Grüße & <more>", Text: "Hello.\n", HTML: "<p>Hello</p><script>x</script>",
		Headers: []postledger.Header{{Name: "X-Order", Value: "4711"}}, FromName: "Desk",
		ReplyTo: []postledger.Mailbox{{Name: "R", Address: "reply@send.test"}}, Category: postledger.CategoryActivity,
		Ref: client.Ref{Scope: "order", ID: "4711"}, Tenant: "acme", Locale: "de-CH", Actor: postledger.Actor{Type: "user", ID: "17", Name: "U"},
		Deadline: client.Deadline{After: time.Hour},
		Attachments: []client.Attachment{
			client.Bytes("ä.txt", "text/plain", []byte("content")), client.Bytes("empty.bin", "", nil),
			client.Once("once.bin", "", strings.NewReader(strings.Repeat("x", 100_000))),
		},
		Key: "order-4711",
	}
	a, err := s.client.Send(ctx, m, client.Wait(20*time.Second))
	must(t, err)
	if a.Replayed || !a.Settled() || a.Status != postledger.StatusSent || a.Counts[postledger.StatusSent] != 3 || len(a.Removed) == 0 {
		t.Errorf("accepted %+v", a)
	}
	m.Attachments[2] = client.Once("once.bin", "", strings.NewReader("not looked at: the key is known"))
	again, err := s.client.Send(ctx, m)
	must(t, err)
	if !again.Replayed || again.ID != a.ID || again.Key != "order-4711" || again.Settled() {
		t.Errorf("the same again: %+v", again)
	}
	m.Subject = "Another"
	m.Attachments = nil
	_, err = s.client.Send(ctx, m)
	if e := refused(t, err, client.ErrIdempotencyMismatch); e.Key != "order-4711" {
		t.Errorf("got %+v", e)
	}

	whole, err := s.client.Message(ctx, a.ID)
	must(t, err)
	if whole.Subject != "Grüße & <more>" || whole.Ref.ID != "4711" || whole.Actor.Name != "U" || whole.Tenant != "acme" ||
		whole.Recipients != 3 || whole.Status != postledger.StatusSent || len(whole.Deliveries) != 3 || whole.ExpiresAt.IsZero() ||
		whole.Deliveries[0].Name != "Mira" || whole.Deliveries[2].Kind != postledger.KindBcc || whole.Deliveries[0].Reason != postledger.ReasonSandbox {
		t.Errorf("message %+v", whole)
	}
	content, err := s.client.MessageContent(ctx, a.ID)
	must(t, err)
	if content.Text != "Hello.\n" || strings.Contains(content.HTML, "script") || len(content.Attachments) != 3 ||
		content.Attachments[0].Name != "ä.txt" || content.Attachments[1].Size != 0 || content.Attachments[2].Size != 100_000 ||
		content.Headers[0].Value != "4711" || content.ReplyTo[0].Name != "R" || content.FromName != "Desk" {
		t.Errorf("content %+v", content)
	}
	s.sandbox(t, a.ID)
}

func (s *server) sandbox(t *testing.T, id postledger.ID) {
	t.Helper()
	ctx := t.Context()
	kept, err := s.client.SandboxMails(ctx, id)
	must(t, err)
	if len(kept) != 1 || len(kept[0].Recipients) != 3 {
		t.Fatalf("kept %+v", kept)
	}
	r, err := s.client.SandboxMail(ctx, id, kept[0].EnvelopeID)
	must(t, err)
	raw, err := io.ReadAll(r)
	must(t, errors.Join(err, r.Close()))
	if int64(len(raw)) != kept[0].Size || !bytes.Contains(raw, []byte("X-Order: 4711\r\n")) || bytes.Contains(raw, []byte("jo@rcv.test")) {
		t.Errorf("%d bytes of %d:\n%.2000s", len(raw), kept[0].Size, raw)
	}
	_, err = s.client.SandboxMail(ctx, id, postledger.ID{1})
	refused(t, err, client.ErrSandboxMailUnknown)
}

func TestRealRefusals(t *testing.T) {
	s, ctx := start(t), t.Context()
	_, err := s.client.Send(ctx, &client.Message{To: client.To("mira@rcv.test", "nobody"), Subject: "a\r\nBcc: spy@evil.test", Text: "x"})
	e := refused(t, err, client.ErrBadInput)
	var fields []string
	for _, f := range e.Fields {
		fields = append(fields, f.Field+" "+f.Rule)
	}
	if !slices.Contains(fields, "subject control") || !slices.Contains(fields, "to[1].address syntax") {
		t.Errorf("got fields %v", fields)
	}
	_, err = s.client.Send(ctx, &client.Message{Profile: "nowhere", To: client.To("mira@rcv.test"), Text: "x"})
	refused(t, err, client.ErrProfileUnknown)
	_, err = s.client.Send(ctx, &client.Message{To: client.To("mira@rcv.test"), Text: "x", Category: postledger.CategoryMarketing})
	refused(t, err, client.ErrCategoryNeedsConsent)
	_, err = s.client.Message(ctx, postledger.ID{1})
	refused(t, err, client.ErrMessageUnknown)
	_, err = s.client.Apps(ctx)
	refused(t, err, client.ErrForbidden)
	_, err = dial(t, s.url, "pl_app_"+strings.Repeat("x", 52)).Message(ctx, postledger.ID{1})
	refused(t, err, client.ErrUnauthorized)
	_, err = dial(t, s.url+"/elsewhere", s.token).Message(ctx, postledger.ID{1})
	refused(t, err, client.ErrRouteUnknown)
	m := &client.Message{To: client.To("mira@rcv.test"), Text: "x"}
	size := int64(5)
	m.Attachments = []client.Attachment{{Name: "a", Size: &size, Reader: strings.NewReader("four")}}
	_, err = s.client.Send(ctx, m)
	if e := refused(t, err, client.ErrBadInput); e.Fields[0].Field != "attachments[0].size" {
		t.Errorf("got %v", e)
	}
	for _, err := range s.client.Deliveries(ctx, client.DeliveryFilter{Statuses: []postledger.Status{}}) {
		refused(t, err, client.ErrBadInput)
	}
	_, err = s.client.Cancel(ctx, client.Choice{})
	refused(t, err, client.ErrBadInput)
	_, err = s.client.Cancel(ctx, client.Choice{IDs: []postledger.ID{}})
	refused(t, err, client.ErrBadInput)
}

// A refusal that comes while a large file is on its way arrives.
func TestRealRefusalOfALargeFile(t *testing.T) {
	s, ctx := start(t), t.Context()
	limited := sandboxed()
	limited.MaxAttachmentBytes = 1 << 20
	_, err := s.operator.PutProfile(ctx, "main", client.ProfileChange{Revision: 1, ProfileConfig: limited, IsDefault: true})
	must(t, err)
	for range 5 {
		m := &client.Message{To: client.To("mira@rcv.test"), Text: "x"}
		m.Attachments = []client.Attachment{client.Once("large", "", io.LimitReader(&pattern{}, 64<<20))}
		_, err = s.client.Send(ctx, m)
		if e := refused(t, err, client.ErrAttachmentsTooLarge); e.Usage == nil || e.Usage.Limit != 1<<20 {
			t.Errorf("got %+v", e)
		}
	}
}

func TestRealBatches(t *testing.T) {
	s, ctx := start(t), t.Context()
	messages := numbered(120)
	messages[7].Attachments = []client.Attachment{client.Bytes("a.txt", "text/plain", []byte("a")), client.Bytes("empty", "", nil)}
	batch := &client.Batch{Profile: "main", Messages: messages[:20], Key: "monday", Actor: postledger.Actor{Type: "job"}}
	a, err := s.client.SendBatch(ctx, batch)
	must(t, err)
	if a.Replayed || a.BatchID.IsZero() || len(a.Messages) != 20 || a.Messages[7].ID.IsZero() {
		t.Errorf("accepted %+v", a)
	}
	again, err := s.client.SendBatch(ctx, batch)
	must(t, err)
	if !again.Replayed || again.Messages[7].ID != a.Messages[7].ID {
		t.Errorf("the same again: %+v", again)
	}
	content, err := s.client.MessageContent(ctx, a.Messages[7].ID)
	must(t, err)
	if len(content.Attachments) != 2 || content.Attachments[0].Size != 1 || content.Attachments[1].Size != 0 {
		t.Errorf("files %+v", content.Attachments)
	}

	messages[33].Subject = "two\nlines"
	sender := newSender(t, s.client, client.BatchOptions{Name: "march", Size: 25, SkipRefused: true})
	sent, err := collect(sender.Send(ctx, client.Each(messages)))
	must(t, err)
	for i, m := range sent {
		if m.N != int64(i) || m.ID.IsZero() != (i == 33) || (m.Refused != nil) != (i == 33) {
			t.Errorf("message %d: %+v", i, m)
		}
	}
	replays, err := collect(newSender(t, s.client, client.BatchOptions{Name: "march", Size: 40, SkipRefused: true}).Send(ctx, client.Each(messages)))
	must(t, err)
	for i, m := range replays {
		if m.ID != sent[i].ID || m.Replayed == (i == 33) {
			t.Errorf("message %d again: %+v", i, m)
		}
	}
	n := 0
	for d, err := range s.client.Deliveries(ctx, client.DeliveryFilter{Batch: a.BatchID, PageSize: 7}) {
		must(t, err)
		if d.BatchID != a.BatchID || d.Lane != postledger.LaneBulk {
			t.Errorf("delivery %+v", d)
		}
		n++
	}
	all := 0
	for m, err := range s.client.Messages(ctx, client.MessageFilter{Lane: postledger.LaneBulk, PageSize: 50}) {
		must(t, err)
		if m.Status == "" || m.Profile != "main" {
			t.Errorf("message %+v", m)
		}
		all++
	}
	if n != 20 || all != 20+119 {
		t.Errorf("listed %d deliveries of the batch and %d messages, want 20 and 139", n, all)
	}
}

func TestRealCancelAndResend(t *testing.T) {
	s, ctx := start(t), t.Context()
	later := time.Now().Add(time.Hour)
	send := func() postledger.ID {
		a, err := s.client.Send(ctx, &client.Message{To: client.To("mira@rcv.test"), Subject: "s", Text: "x", SendAt: later, Ref: client.Ref{ID: "7"}})
		must(t, err)
		return a.ID
	}
	one, two := send(), send()
	c, err := s.client.CancelMessage(ctx, one)
	must(t, err)
	if *c != (client.Canceled{Canceled: 1}) {
		t.Errorf("canceled %+v", c)
	}
	c, err = s.client.Cancel(ctx, client.Choice{RefID: "7", Since: later.Add(-2 * time.Hour)})
	must(t, err)
	if c.Canceled != 1 {
		t.Errorf("canceled by filter %+v", c)
	}
	b, err := s.client.SendBatch(ctx, &client.Batch{Messages: []*client.Message{{To: client.To("a@rcv.test"), Text: "x", SendAt: later}}})
	must(t, err)
	if c, err = s.client.CancelBatch(ctx, b.BatchID); err != nil || c.Canceled != 1 {
		t.Errorf("canceled batch %+v, %v", c, err)
	}
	_, err = s.client.ResendMessage(ctx, two, client.Resending{})
	refused(t, err, client.ErrNotResendable)
	whole, err := s.client.Message(ctx, two)
	must(t, err)
	again, err := s.client.ResendMessage(ctx, two, client.Resending{
		Deliveries: []postledger.ID{whole.Deliveries[0].ID}, Actor: postledger.Actor{Type: "user"}, Deadline: client.Deadline{After: time.Hour},
	})
	must(t, err)
	if again.ID.IsZero() || again.ID == two || again.Key == "" {
		t.Errorf("resent %+v", again)
	}
	r, err := s.operator.Resolve(ctx, client.ResolveSent, client.Choice{App: s.app.ID})
	must(t, err)
	if *r != (client.Resolved{}) {
		t.Errorf("resolved %+v", r)
	}
	_, err = s.operator.Resolve(ctx, client.ResolveResend, client.Choice{})
	if e := refused(t, err, client.ErrBadInput); len(e.Fields) == 0 {
		t.Errorf("got %v", e)
	}
	stats, err := s.client.Stats(ctx, client.StatsFilter{Profile: "main"})
	must(t, err)
	if len(stats.Hours) == 0 || stats.Hours[0].Messages == 0 || stats.Until.IsZero() {
		t.Errorf("stats %+v", stats)
	}
}

// Many senders of one key get one message.
func TestRealRace(t *testing.T) {
	s, ctx := start(t), t.Context()
	var mu sync.Mutex
	ids := map[postledger.ID]int{}
	fresh := 0
	var g sync.WaitGroup
	for range 25 {
		g.Go(func() {
			m := &client.Message{To: client.To("mira@rcv.test"), Subject: "s", Text: "x", Key: "k-19"}
			m.Attachments = []client.Attachment{client.Bytes("a", "", []byte("content"))}
			a, err := s.client.Send(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			ids[a.ID]++
			if !a.Replayed {
				fresh++
			}
		})
	}
	g.Wait()
	if len(ids) != 1 || fresh != 1 {
		t.Errorf("%d messages, %d of them new", len(ids), fresh)
	}
}
