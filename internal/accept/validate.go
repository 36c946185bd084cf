package accept

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/address"
	"github.com/postledger/postledger/internal/mime"
)

// Check refuses a request for what can be seen without the ledger: everything
// but times, which depend on the moment, and the profile's own limits. The
// error is an *InvalidError, or ErrConsent.
func (r *Request) Check() error {
	p := newProblems()
	r.validate(p, false)
	if err := p.err(); err != nil {
		return err
	}
	return r.consent()
}

// consent: marketing needs the recipient's consent, and nothing keeps it yet.
func (r *Request) consent() error {
	if r.Category == postledger.CategoryMarketing {
		return ErrConsent
	}
	return nil
}

// recipient is a checked address with the header it stands in.
type recipient struct {
	kind postledger.RecipientKind
	addr address.Address
	name string
}

// validate reports everything that is wrong with the request itself and
// returns its recipients in the order to, cc, bcc.
func (r *Request) validate(p problems, inBatch bool) []recipient {
	found := p.count()
	p.tight("profile", r.Profile, MaxName)
	rcpts := r.recipients(p)
	p.line("subject", r.Subject, MaxSubject)
	p.body("text", r.Text)
	p.body("html", r.HTML)
	if len(r.Text)+len(r.HTML) > MaxBodyBytes {
		p.add("text", RuleTooLarge, fmt.Sprintf("and html are larger than %d bytes together", MaxBodyBytes))
	}
	if r.Text == "" && r.HTML == "" && len(r.Attachments) == 0 {
		p.add("text", RuleRequired, "is missing, and so are html and attachments")
	}
	r.headers(p)
	p.name("from_name", r.FromName)
	r.replyTo(p)
	r.kinds(p, inBatch)
	p.tight("ref.scope", r.Ref.Scope, MaxName)
	p.tight("ref.id", r.Ref.ID, MaxName)
	if r.Ref.Scope != "" && r.Ref.ID == "" {
		p.add("ref.id", RuleRequired, "is missing beside ref.scope")
	}
	p.tight("tenant", r.Tenant, MaxName)
	p.locale("locale", r.Locale)
	p.tight("actor.type", r.Actor.Type, MaxName)
	p.tight("actor.id", r.Actor.ID, MaxName)
	p.tight("actor.name", r.Actor.Name, MaxName)
	p.tight("idempotency_key", r.Key, MaxKey)
	r.messageID(p, inBatch)
	r.checkAttachments(p)
	if p.count() == found {
		r.composable(p, rcpts)
	}
	return rcpts
}

// recipients checks to, cc and bcc. One mailbox gets one copy, however its
// address is spelt (case B22).
func (r *Request) recipients(p problems) []recipient {
	total := len(r.To) + len(r.Cc) + len(r.Bcc)
	switch {
	case total == 0:
		p.add("to", RuleRequired, "is empty, and so are cc and bcc")
		return nil
	case total > MaxRecipients:
		p.add("to", RuleTooMany, fmt.Sprintf("and cc and bcc have more than %d recipients together", MaxRecipients))
		return nil
	}
	out := make([]recipient, 0, total)
	seen := make(map[string]string, total)
	for _, l := range [...]struct {
		kind postledger.RecipientKind
		list []Recipient
	}{{postledger.KindTo, r.To}, {postledger.KindCc, r.Cc}, {postledger.KindBcc, r.Bcc}} {
		for i, rcpt := range l.list {
			field := at(string(l.kind), i)
			p.name(field+".name", rcpt.Name)
			a, ok := p.address(field+".address", rcpt.Address)
			if !ok {
				continue
			}
			if first := seen[a.Fold()]; first != "" {
				p.add(field+".address", RuleDuplicate, "is the same recipient as "+first)
				continue
			}
			seen[a.Fold()] = field
			out = append(out, recipient{l.kind, a, rcpt.Name})
		}
	}
	return out
}

func (p problems) address(field, s string) (address.Address, bool) {
	a, err := address.Parse(s)
	if err == nil {
		return a, true
	}
	var ae *address.Error
	rule, message := RuleSyntax, "is not an e-mail address"
	if errors.As(err, &ae) {
		message = "is not valid: " + ae.Detail
		switch ae.Rule {
		case address.RuleControl:
			rule = RuleControl
		case address.RuleEncoding:
			rule = RuleEncoding
		case address.RuleLength, address.RuleLocalLength, address.RuleDomainLength:
			rule = RuleTooLong
		}
		if s == "" {
			rule = RuleRequired
		}
	}
	p.add(field, rule, message)
	return a, false
}

func (r *Request) replyTo(p problems) {
	if len(r.ReplyTo) > MaxReplyTo {
		p.add("reply_to", RuleTooMany, fmt.Sprintf("has more than %d mailboxes", MaxReplyTo))
		return
	}
	for i, m := range r.ReplyTo {
		p.name(at("reply_to", i)+".name", m.Name)
		p.address(at("reply_to", i)+".address", m.Address)
	}
}

// headers: the composer knows which fields are ours or a provider's controls.
func (r *Request) headers(p problems) {
	if len(r.Headers) > MaxHeaders {
		p.add("headers", RuleTooMany, fmt.Sprintf("has more than %d fields", MaxHeaders))
		return
	}
	for i, h := range r.Headers {
		field := at("headers", i)
		before := p.count()
		p.line(field+".value", h.Value, MaxHeaderValue)
		if before != p.count() {
			continue
		}
		var fe *mime.FieldError
		if err := mime.CheckHeader(mime.Header{Name: h.Name, Value: h.Value}); errors.As(err, &fe) {
			rule := RuleSyntax
			if strings.Contains(fe.Rule, "reserved") {
				rule = RuleReserved
			}
			p.add(field+"."+fe.Field, rule, fe.Rule)
		}
	}
}

// kinds checks the values that are one of a few.
func (r *Request) kinds(p problems, inBatch bool) {
	switch {
	case r.Lane != "" && !r.Lane.Valid():
		p.add("lane", RuleUnknown, "is neither immediate nor bulk")
	case inBatch && r.Lane == postledger.LaneImmediate:
		p.add("lane", RuleNotAllowed, "is immediate, but messages of a batch are bulk")
	}
	if r.Category != "" && !r.Category.Valid() {
		p.add("category", RuleUnknown, "is not system, platform, activity or marketing")
	}
	if !r.Deadline.At.IsZero() && r.Deadline.After != 0 {
		p.add("deadline", RuleNotAllowed, "is both a moment and a span")
	}
	if r.Deadline.After < 0 || r.Deadline.After > MaxAhead {
		p.add("deadline", RuleRange, "is not between one second and 366 days")
	}
}

func (r *Request) messageID(p problems, inBatch bool) {
	if r.MessageID == "" {
		return
	}
	if inBatch {
		p.add("message_id", RuleNotAllowed, "is for single messages only")
		return
	}
	var fe *mime.FieldError
	if err := mime.CheckMessageID(r.MessageID); errors.As(err, &fe) {
		p.add("message_id", RuleSyntax, fe.Rule)
	}
}

// composable asks the composer, so that nothing is accepted whose bytes could
// not be built later. What it knows better than the checks before it: fields
// that may occur once, and parts that do not fit each other.
func (r *Request) composable(p problems, rcpts []recipient) {
	in := mime.Input{
		From:      mime.Address{Name: r.FromName, Addr: "postledger@localhost"},
		Subject:   r.Subject,
		MessageID: "check@localhost",
		Date:      time.Unix(0, 0),
		Text:      r.Text,
		HTML:      r.HTML,
		Seed:      []byte("check"),
	}
	for _, rc := range rcpts {
		a := mime.Address{Name: rc.name, Addr: rc.addr.Wire()}
		switch rc.kind {
		case postledger.KindTo:
			in.To = append(in.To, a)
		case postledger.KindCc:
			in.Cc = append(in.Cc, a)
		}
	}
	for _, m := range r.ReplyTo {
		if a, err := address.Parse(m.Address); err == nil {
			in.ReplyTo = append(in.ReplyTo, mime.Address{Name: m.Name, Addr: a.Wire()})
		}
	}
	for _, h := range r.Headers {
		in.Headers = append(in.Headers, mime.Header{Name: h.Name, Value: h.Value})
	}
	for i := range r.Attachments {
		in.Attachments = append(in.Attachments, r.Attachments[i].part())
	}
	var fe *mime.FieldError
	if err := in.Check(); errors.As(err, &fe) {
		rule := RuleSyntax
		if strings.Contains(fe.Rule, "once") || strings.Contains(fe.Rule, "twice") {
			rule = RuleDuplicate
		}
		p.add(strings.Replace(fe.Field, ".filename", ".name", 1), rule, fe.Rule)
	}
}
