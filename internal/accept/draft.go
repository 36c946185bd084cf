package accept

import (
	"fmt"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/address"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/sanitize"
	"github.com/postledger/postledger/internal/transport"
)

// draft is a checked request on its way to become rows.
type draft struct {
	// id is the message's; it is made when the key turns out to be new.
	id          postledger.ID
	app         postledger.ID
	req         *Request
	rcpts       []recipient
	lane        postledger.Lane
	fingerprint string
	// looked: the key was looked up, by itself or by the transaction.
	looked bool
	// path is where the request stands in its batch: "" or "messages[3].".
	path     string
	index    int
	resendOf postledger.ID
	action   string
	// files are the stored attachments, one for each of the request's.
	files []postledger.Attachment
	// removed names what the HTML filter took out.
	removed []string
}

// timed reports whether anything of the request depends on the moment.
func (r *Request) timed() bool { return !r.SendAt.IsZero() || !r.Deadline.IsZero() }

// due is when the message is due, and its deadline; zero where there is none.
func (d *draft) due(now time.Time) (due, expires time.Time) {
	due = d.req.SendAt
	if due.Before(now) {
		due = now
	}
	return due, d.req.Deadline.moment(due)
}

func (d *draft) checkTimes(p problems, now time.Time) {
	due, expires := d.due(now)
	if due.Sub(now) > MaxAhead {
		p.add("send_at", RuleRange, "is more than 366 days ahead")
		return
	}
	switch {
	case expires.IsZero():
	case !expires.After(due):
		p.add("deadline", RuleRange, "is not after the moment it is due")
	case expires.Sub(due) > MaxAhead:
		p.add("deadline", RuleRange, "is more than 366 days after the moment it is due")
	}
}

// build makes the message's rows under a policy. now is the ledger's moment,
// needed for timed requests only.
func (d *draft) build(p problems, e *ledger.Effective, caps transport.Capabilities, now time.Time, newID func() postledger.ID) ledger.NewMessage {
	r := d.req
	html := r.HTML
	d.removed = nil
	if !e.TrustedHTML && html != "" {
		var removed sanitize.Removed
		html, removed = sanitize.HTML(html)
		d.removed = removed.Codes()
	}
	switch {
	case len(r.Text)+len(html) > MaxBodyBytes:
		p.add("html", RuleTooLarge, fmt.Sprintf("and text are larger than %d bytes together after filtering", MaxBodyBytes))
	case html == "" && r.Text == "" && len(r.Attachments) == 0:
		p.add("html", RuleRequired, "has nothing left after filtering")
	}
	m := ledger.NewMessage{
		Message: postledger.Message{
			ID: d.id, AppID: d.app, ProfileID: e.Profile.ID, ProfileName: e.Profile.Name,
			Tenant: r.Tenant, Locale: r.Locale, Lane: d.lane, RefScope: r.Ref.Scope, RefID: r.Ref.ID,
			Category: r.category(), Subject: r.Subject, HeaderMessageID: r.MessageID,
			Recipients: len(d.rcpts), Actor: r.Actor, ResendOf: d.resendOf,
		},
		Content: postledger.Content{
			Text: r.Text, HTML: html, Headers: r.Headers, FromName: r.FromName, ReplyTo: r.ReplyTo, Attachments: d.files,
		},
		Key: r.Key, Fingerprint: d.fingerprint,
	}
	// What building its bytes holds in memory: attachments are streamed.
	m.Message.SizeBytes = int64(len(r.Subject) + len(r.Text) + len(html))
	for _, h := range r.Headers {
		m.Message.SizeBytes += int64(len(h.Name) + len(h.Value))
	}
	if r.timed() {
		var due time.Time
		if due, m.Message.ExpiresAt = d.due(now); due.After(now) {
			m.Message.SendAt = due
		}
	}
	m.Deliveries = d.deliveries(&m.Message, caps, newID)
	if m.Message.HeaderMessageID == "" {
		m.Message.HeaderMessageID = headerMessageID(&e.Profile.Config, m.Deliveries[0].EnvelopeID)
	}
	return m
}

// headerMessageID fixes the Message-ID at acceptance (RFC 5322 §3.6.4), from
// the envelope the message is accepted as and the profile's domain at that
// moment: it must not change when a retry forms a new envelope or the profile
// is given another domain meanwhile (invariant 10).
func headerMessageID(c *postledger.ProfileConfig, envelope postledger.ID) string {
	domain := c.MessageIDDomain
	if domain == "" {
		from, err := address.Parse(c.From)
		if err != nil {
			return "" // the profile cannot send; the worker says so
		}
		domain = from.Domain()
	}
	return "<" + envelope.Token() + "@" + domain + ">"
}

// deliveries are one row a recipient, with ids in the order to, cc, bcc.
func (d *draft) deliveries(m *postledger.Message, caps transport.Capabilities, newID func() postledger.ID) []postledger.Delivery {
	out := make([]postledger.Delivery, len(d.rcpts))
	for i, rc := range d.rcpts {
		out[i] = postledger.Delivery{
			ID: newID(), MessageID: m.ID, AppID: m.AppID, ProfileID: m.ProfileID, Lane: m.Lane,
			Kind: rc.kind, Position: i,
			Address: rc.addr.String(), AddressFolded: rc.addr.Fold(), DisplayName: rc.name,
			DueAt: m.SendAt, ExpiresAt: m.ExpiresAt,
		}
	}
	envelopes(out, caps, newID)
	return out
}

// envelopes forms the groups that leave in one transaction each. The id of a
// group of one is its delivery's; a larger group gets one of its own.
func envelopes(ds []postledger.Delivery, caps transport.Capabilities, newID func() postledger.ID) {
	size := MaxRecipients
	if caps.MaxRecipients > 0 {
		size = min(size, caps.MaxRecipients)
	}
	if caps.OneRecipientPerEnvelope {
		size = 1
	}
	for len(ds) > 0 {
		n := min(size, len(ds))
		id := ds[0].ID
		if n > 1 {
			id = newID()
		}
		for i := range n {
			ds[i].EnvelopeID = id
		}
		ds = ds[n:]
	}
}
