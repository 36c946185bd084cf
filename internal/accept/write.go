package accept

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// submission is what commits as one: a single message, or a batch.
type submission struct {
	drafts []*draft
	batch  postledger.ID
	action string
}

func (sub *submission) recipients() (n int64) {
	for _, d := range sub.drafts {
		n += int64(len(d.rcpts))
	}
	return n
}

// looked tells each draft that the ledger has looked at its key.
func (sub *submission) looked() {
	for _, d := range sub.drafts {
		d.looked = true
	}
}

// policyTries bounds how often a request is checked against a policy that
// changes under it.
const policyTries = 4

// write commits the submission, and again under the new policy when that
// changed since it was read. Stored attachments are removed where no row
// refers to them, and kept when it is not known whether one does.
func (s *Service) write(ctx context.Context, c Caller, sub *submission, e ledger.Effective) (ledger.Accepted, error) {
	out, err := s.tryWrite(ctx, c, sub, e)
	if errors.Is(err, ledger.ErrFateUnknown) {
		s.Log.Error("the fate of an accept is unknown", slog.String("message", sub.drafts[0].id.String()), slog.String("error", err.Error()))
		return out, &UnavailableError{MessageID: sub.drafts[0].id, BatchID: sub.batch, FateUnknown: true, Err: err}
	}
	for i, d := range sub.drafts {
		if err != nil || out.Items[i].Replayed {
			s.removeFiles(ctx, d)
		}
	}
	return out, err
}

func (s *Service) tryWrite(ctx context.Context, c Caller, sub *submission, e ledger.Effective) (ledger.Accepted, error) {
	for try := 1; ; try++ {
		req, err := s.request(ctx, c, sub, &e)
		if err != nil {
			return ledger.Accepted{}, err
		}
		out, err := s.Ledger.Accept(ctx, req)
		if err == nil {
			sub.looked()
			s.accepted(sub, req, &out)
			return out, nil
		}
		if errors.Is(err, ledger.ErrFateUnknown) {
			return out, err
		}
		refusal := refuse(err)
		if stale(err) || CodeOf(refusal) != CodeUnavailable {
			sub.looked() // it has an answer, and looks at keys first
		}
		if !stale(err) || try == policyTries {
			return out, refusal
		}
		// What was read is no longer so: look again, and answer by that.
		if e, err = s.policies.fresh(ctx, sub.drafts[0].app, sub.drafts[0].req.Profile); err != nil {
			return out, refuse(err)
		}
		for _, d := range sub.drafts {
			if err := d.checkStored(attachmentLimit(&e)); err != nil {
				return out, err
			}
		}
	}
}

// stale reports whether err may come from a policy that was read too long ago.
func stale(err error) bool {
	return errors.Is(err, ledger.ErrProfileChanged) || errors.Is(err, ledger.ErrProfileGone) || errors.Is(err, ledger.ErrNotGranted)
}

// request builds the rows of all drafts.
func (s *Service) request(ctx context.Context, c Caller, sub *submission, e *ledger.Effective) (*ledger.AcceptRequest, error) {
	caps := s.Capabilities(&e.Profile)
	p := newProblems()
	var now time.Time
	req := &ledger.AcceptRequest{
		AppID: sub.drafts[0].app, APIKeyID: c.APIKey, ProfileID: e.Profile.ID, Revision: e.Profile.Revision,
		Quota: e.Quota, TrustedHTML: e.TrustedHTML, BatchID: sub.batch,
		Messages: make([]ledger.NewMessage, len(sub.drafts)),
	}
	for i, d := range sub.drafts {
		if d.req.timed() && now.IsZero() {
			var err error
			if now, err = s.clock.read(ctx); err != nil {
				return nil, err
			}
		}
		if d.req.timed() {
			d.checkTimes(p.under(d.path), now)
		}
		m := d.build(p.under(d.path), e, caps, now, s.Ledger.NewID)
		m.Message.APIKeyID, m.Message.RequestID, m.Message.BatchID = c.APIKey, c.RequestID, sub.batch
		req.Messages[i] = m
	}
	req.Audit = s.auditEvent(c, sub, e)
	return req, p.err()
}

// accepted does what follows a commit; none of it can undo the answer.
func (s *Service) accepted(sub *submission, req *ledger.AcceptRequest, out *ledger.Accepted) {
	var fresh, due int64
	for i := range req.Messages {
		if out.Items[i].Replayed {
			continue
		}
		m := &req.Messages[i]
		fresh += int64(len(m.Deliveries))
		if !m.Message.SendAt.After(out.CreatedAt) {
			due += int64(len(m.Deliveries))
		}
	}
	if fresh > 0 {
		s.Backlog.Added(req.ProfileID, fresh)
	}
	if due > 0 {
		s.Wake([]ledger.ClaimKey{{Profile: req.ProfileID, Lane: sub.drafts[0].lane, App: req.AppID}})
	}
}

// auditEvent is the one line of an accepted request. It names ids and counts:
// no body, subject or address (invariant 14).
func (s *Service) auditEvent(c Caller, sub *submission, e *ledger.Effective) postledger.AuditEvent {
	d := sub.drafts[0]
	ev := postledger.AuditEvent{
		ID: s.Ledger.NewID(), AppID: d.app, APIKeyID: c.APIKey, RequestID: c.RequestID,
		ActorType: unaddressed(d.req.Actor.Type), ActorID: unaddressed(d.req.Actor.ID),
		Action: sub.action, TargetType: "message", TargetID: d.id.String(), Result: "done",
		Detail: fmt.Sprintf("profile=%s lane=%s recipients=%d", e.Profile.ID, d.lane, sub.recipients()),
	}
	if !sub.batch.IsZero() {
		ev.TargetType, ev.TargetID = "batch", sub.batch.String()
		ev.Detail += fmt.Sprintf(" messages=%d", len(sub.drafts))
	}
	if !d.resendOf.IsZero() {
		ev.Detail += " resend_of=" + d.resendOf.String()
	}
	return ev
}
