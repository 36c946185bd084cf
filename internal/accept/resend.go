package accept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/address"
	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/lens/stablehash"
)

// ResendRequest asks for a message to be sent again, as a new message with the
// same content.
type ResendRequest struct {
	Message postledger.ID `json:"-"`
	// Deliveries are those to send again; empty means all that failed.
	Deliveries []postledger.ID  `json:"deliveries,omitempty"`
	Actor      postledger.Actor `json:"actor,omitzero"`
	Deadline   Deadline         `json:"deadline,omitzero"`
	Key        string           `json:"idempotency_key,omitempty"`
}

// Resend accepts the content of a message once more. Its recipients are the
// deliveries that failed, or those that were chosen: any that are settled,
// other than unconfirmed ones, which are resolved instead. It is a message like
// any other: profile, grant and quota are looked at as they are now, it gets a
// Message-ID of its own, and it has no deadline unless a new one is given.
//
// A caller with an app sees that app's messages only; one without (an
// operator) sees all, and the new message is the app's.
func (s *Service) Resend(ctx context.Context, c Caller, r *ResendRequest) (Receipt, error) {
	p := newProblems()
	p.tight("idempotency_key", r.Key, MaxKey)
	p.tight("actor.type", r.Actor.Type, MaxName)
	p.tight("actor.id", r.Actor.ID, MaxName)
	p.tight("actor.name", r.Actor.Name, MaxName)
	if len(r.Deliveries) > MaxRecipients {
		p.add("deliveries", RuleTooMany, fmt.Sprintf("has more than %d entries", MaxRecipients))
	}
	if err := p.err(); err != nil {
		return Receipt{}, err
	}
	app, err := s.owner(ctx, c, r.Message)
	if err != nil {
		return Receipt{}, err
	}
	print, err := r.fingerprint()
	if err != nil {
		return Receipt{}, invalid("", RuleSyntax, "cannot be compared with others")
	}
	d := &draft{app: app, req: &Request{Key: r.Key}, fingerprint: print, resendOf: r.Message, action: "message.resend"}
	rec, err := s.once(ctx, c, d, func(ctx context.Context) error { return s.reload(ctx, d, r) })
	var inv *InvalidError
	if errors.As(err, &inv) && inv.Problems[0].Rule == RuleMismatch {
		// The request has no files: what does not match is what is stored.
		return rec, ErrAttachmentLost
	}
	return rec, err
}

// fingerprint identifies the resend: the same message to the same recipients.
func (r *ResendRequest) fingerprint() (string, error) {
	ids := slices.Clone(r.Deliveries)
	slices.SortFunc(ids, func(a, b postledger.ID) int { return slices.Compare(a[:], b[:]) })
	h, err := stablehash.Sum(struct {
		ResendOf   postledger.ID    `json:"resend_of"`
		Deliveries []postledger.ID  `json:"deliveries"`
		Actor      postledger.Actor `json:"actor"`
		Deadline   Deadline         `json:"deadline"`
	}{r.Message, ids, r.Actor, Deadline{r.Deadline.At.UTC(), r.Deadline.After}})
	return h.String(), err
}

// owner is the app of a message the caller may see. A foreign message answers
// exactly like an unknown one (invariant 18).
func (s *Service) owner(ctx context.Context, c Caller, message postledger.ID) (postledger.ID, error) {
	m, err := s.load(ctx, message, 0) // no content: only whose it is
	if err != nil {
		return postledger.ID{}, err
	}
	if !c.App.IsZero() && c.App != m.AppID {
		return postledger.ID{}, ErrMessageUnknown
	}
	return m.AppID, nil
}

func (s *Service) load(ctx context.Context, message postledger.ID, maxContent int64) (*ledger.Loaded, error) {
	loaded, err := s.Ledger.LoadMessages(ctx, []postledger.ID{message}, maxContent)
	if err != nil {
		return nil, refuse(err)
	}
	m := loaded[message]
	if m == nil {
		return nil, ErrMessageUnknown
	}
	return m, nil
}

// reload fills a draft with the content of the message it resends.
func (s *Service) reload(ctx context.Context, d *draft, r *ResendRequest) error {
	m, err := s.load(ctx, r.Message, math.MaxInt64)
	if err != nil {
		return err
	}
	if m.ContentMissing {
		return ErrMessageGone
	}
	ds, err := s.Ledger.DeliveriesOf(ctx, m.ID)
	if err != nil {
		return refuse(err)
	}
	if d.rcpts, err = choose(ds, r.Deliveries); err != nil {
		return err
	}
	d.lane = m.Lane
	d.req = &Request{
		Profile: m.ProfileName, Subject: m.Subject, Text: m.Content.Text, HTML: m.Content.HTML,
		Headers: m.Content.Headers, FromName: m.Content.FromName, ReplyTo: m.Content.ReplyTo,
		Lane: m.Lane, Category: m.Category, Ref: Ref{m.RefScope, m.RefID}, Tenant: m.Tenant, Locale: m.Locale,
		Actor: r.Actor, Deadline: r.Deadline, Key: r.Key,
	}
	for _, f := range m.Content.Attachments {
		d.req.Attachments = append(d.req.Attachments, Attachment{
			Name: f.Name, ContentType: f.ContentType, Disposition: f.Disposition, ContentID: f.ContentID,
			Method: f.Method, Size: &f.Size, SHA256: f.SHA256,
			Open: func() (io.ReadCloser, error) { return s.openStored(ctx, f.Blob) },
		})
	}
	return d.req.consent()
}

// openStored reads an attachment of the earlier message: the new one gets a
// copy, so that each message's attachments end with it.
func (s *Service) openStored(ctx context.Context, key string) (io.ReadCloser, error) {
	rc, err := s.Blobs.Open(ctx, key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return nil, ErrAttachmentLost
	case err != nil:
		return nil, storage(err)
	default:
		return rc, nil
	}
}

// choose picks the recipients: the deliveries that failed, or those wanted.
func choose(ds []postledger.Delivery, wanted []postledger.ID) ([]recipient, error) {
	p := newProblems()
	for i, id := range wanted {
		at := at("deliveries", i)
		j := slices.IndexFunc(ds, func(d postledger.Delivery) bool { return d.ID == id })
		switch {
		case j < 0:
			p.add(at, RuleUnknown, "is not a delivery of this message")
		case !ds[j].Status.Settled():
			p.add(at, RuleNotAllowed, "is not settled yet")
		case ds[j].Status == postledger.StatusUnconfirmed:
			p.add(at, RuleNotAllowed, "is unconfirmed: it is resolved, not sent as another message")
		case slices.Contains(wanted[:i], id):
			p.add(at, RuleDuplicate, "is listed twice")
		}
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	var out []recipient
	for _, d := range ds {
		if len(wanted) == 0 && d.Status != postledger.StatusFailed || len(wanted) > 0 && !slices.Contains(wanted, d.ID) {
			continue
		}
		a, err := address.Parse(d.Address)
		if err != nil {
			return nil, fmt.Errorf("read the address of delivery %s: %w", d.ID, err)
		}
		out = append(out, recipient{d.Kind, a, d.DisplayName})
	}
	if len(out) == 0 {
		return nil, ErrNotResendable
	}
	return out, nil
}
