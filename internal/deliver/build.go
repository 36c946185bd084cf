package deliver

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/address"
	"github.com/postledger/postledger/internal/mime"
	"github.com/postledger/postledger/internal/transport"
)

var errContentGone = errors.New("the content has been purged")

// compose builds the bytes of an envelope's message.
func (w *Worker) compose(e *envelope, p postledger.Profile, hop Hop) (*mime.Message, error) {
	m := e.message
	if m.ContentMissing {
		return nil, errContentGone
	}
	from, err := address.Parse(p.Config.From)
	if err != nil {
		return nil, fmt.Errorf("profile's from: %w", err)
	}
	in := &mime.Input{
		From:      mime.Address{Name: m.Content.FromName, Addr: from.Wire()},
		Subject:   m.Subject,
		MessageID: messageID(e, p, from),
		Date:      laterOf(m.CreatedAt, m.SendAt),
		Text:      m.Content.Text,
		HTML:      m.Content.HTML,
		Seed:      e.members[0].EnvelopeID[:],
	}
	if in.From.Name == "" {
		in.From.Name = p.Config.FromName
	}
	for _, r := range m.Content.ReplyTo {
		a, err := address.Parse(r.Address)
		if err != nil {
			return nil, fmt.Errorf("reply-to: %w", err)
		}
		in.ReplyTo = append(in.ReplyTo, mime.Address{Name: r.Name, Addr: a.Wire()})
	}
	if err := recipientHeaders(in, e); err != nil {
		return nil, err
	}
	for _, h := range m.Content.Headers {
		in.Headers = append(in.Headers, mime.Header{Name: h.Name, Value: h.Value})
	}
	for _, a := range m.Content.Attachments {
		at := mime.Attachment{
			Filename: a.Name, ContentType: a.ContentType, ContentID: a.ContentID, Method: a.Method, Size: a.Size,
			Open: func() (io.ReadCloser, error) { return w.shelf.open(w.work, a.Blob) },
		}
		if a.Disposition == "inline" {
			at.Disposition = mime.DispositionInline
		}
		in.Attachments = append(in.Attachments, at)
	}
	msg, err := w.composer.Compose(in)
	if err != nil {
		return nil, err
	}
	if hop.Signer != nil {
		if err := msg.Sign(hop.Signer); err != nil {
			msg.Release()
			return nil, fmt.Errorf("sign: %w", err)
		}
	}
	return msg, nil
}

// recipientHeaders rebuilds To and Cc: all recipients of the message that are
// shown, not only those of this envelope. A bcc recipient stands in neither.
func recipientHeaders(in *mime.Input, e *envelope) error {
	add := func(kind postledger.RecipientKind, name, addr string) error {
		a, err := address.Parse(addr)
		if err != nil {
			return fmt.Errorf("recipient: %w", err)
		}
		switch kind {
		case postledger.KindTo:
			in.To = append(in.To, mime.Address{Name: name, Addr: a.Wire()})
		case postledger.KindCc:
			in.Cc = append(in.Cc, mime.Address{Name: name, Addr: a.Wire()})
		}
		return nil
	}
	if e.message.Recipients == 1 {
		d := &e.members[0]
		return add(d.Kind, d.DisplayName, d.Address)
	}
	for _, v := range e.message.Visible {
		if err := add(v.Kind, v.Name, v.Address); err != nil {
			return err
		}
	}
	return nil
}

// messageID is what was fixed at acceptance. A message accepted without one
// gets the id of its single delivery, or its own when several recipients share
// it: neither changes when members form a new envelope.
func messageID(e *envelope, p postledger.Profile, from address.Address) string {
	if e.message.HeaderMessageID != "" {
		return e.message.HeaderMessageID
	}
	domain := p.Config.MessageIDDomain
	if domain == "" {
		domain = from.Domain()
	}
	id := e.message.ID
	if e.message.Recipients == 1 {
		id = e.members[0].ID
	}
	return "<" + id.Token() + "@" + domain + ">"
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// transportEnvelope puts the wire form of the addresses around the message.
func transportEnvelope(e *envelope, p postledger.Profile, msg *watchedMessage) (*transport.Envelope, error) {
	id := e.members[0].EnvelopeID
	env := &transport.Envelope{
		ID: id, NeedsSMTPUTF8: msg.NeedsSMTPUTF8(), RequestDSN: p.Config.BounceDomain != "", Message: msg,
		Recipients: make([]string, len(e.members)),
	}
	if p.Config.BounceDomain != "" {
		env.ReturnPath = "b+" + id.Token() + "@" + p.Config.BounceDomain
	} else {
		from, err := address.Parse(p.Config.From)
		if err != nil {
			return nil, fmt.Errorf("profile's from: %w", err)
		}
		env.ReturnPath = from.Wire()
		env.NeedsSMTPUTF8 = env.NeedsSMTPUTF8 || from.NeedsSMTPUTF8()
	}
	for i := range e.members {
		a, err := address.Parse(e.members[i].Address)
		if err != nil {
			return nil, fmt.Errorf("recipient %d: %w", e.members[i].Position, err)
		}
		env.Recipients[i] = a.Wire()
		env.NeedsSMTPUTF8 = env.NeedsSMTPUTF8 || a.NeedsSMTPUTF8()
	}
	return env, nil
}
