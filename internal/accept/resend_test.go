package accept_test

import (
	"io"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

func TestResend(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		r := good()
		r.Cc = []accept.Recipient{{Address: "Desk@rcv.test", Name: "Desk"}}
		r.Bcc = []accept.Recipient{{Address: "audit@rcv.test"}, {Address: "doubt@rcv.test"}}
		r.HTML, r.Headers, r.Ref = "<p>Hello.</p>", header("X-Ref", "7"), accept.Ref{Scope: "order", ID: "4711"}
		r.ReplyTo = []postledger.Mailbox{{Address: "desk@send.test"}}
		r.Attachments, r.MessageID, r.Deadline.After = file(declared), "<a@send.test>", time.Hour
		old, before, ds := w.accepted(r)
		resend := func(change func(*accept.ResendRequest)) (accept.Receipt, error) {
			q := &accept.ResendRequest{Message: old.MessageID}
			change(q)
			return w.Resend(t.Context(), w.caller, q)
		}
		nothing := func(*accept.ResendRequest) {}
		_, err := resend(nothing)
		refused(t, err, accept.CodeNotResendable)
		_, err = resend(func(q *accept.ResendRequest) { q.Deliveries = []postledger.ID{ds[0].ID} })
		sameList(t, "queued", broken(t, err), []string{"deliveries[0] not_allowed"})

		w.settle(old.MessageID, map[postledger.ID]postledger.Status{
			ds[0].ID: postledger.StatusSent, ds[1].ID: postledger.StatusFailed,
			ds[2].ID: postledger.StatusFailed, ds[3].ID: postledger.StatusUnconfirmed,
		})
		rec, err := resend(func(q *accept.ResendRequest) { q.Key = "again"; q.Actor = postledger.Actor{Type: "user", ID: "u-1"} })
		must(t, err)
		m, again := w.read(rec.MessageID)
		equal(t, "resend of", m.ResendOf, old.MessageID)
		equal(t, "recipients", len(again), 2)
		equal(t, "cc", string(again[0].Kind)+" "+again[0].DisplayName+" "+again[0].Address, "cc Desk Desk@rcv.test")
		equal(t, "bcc", string(again[1].Kind)+" "+again[1].Address, "bcc audit@rcv.test")
		equal(t, "content", m.Subject+m.Content.Text+m.Content.HTML, before.Subject+before.Content.Text+before.Content.HTML)
		equal(t, "ref", m.RefScope+m.RefID, "order4711")
		equal(t, "actor", m.Actor.ID, "u-1")
		sameList(t, "headers", m.Content.Headers, before.Content.Headers)
		sameList(t, "reply-to", m.Content.ReplyTo, before.Content.ReplyTo)
		equal(t, "a Message-ID of its own", m.HeaderMessageID, "<"+again[0].EnvelopeID.Token()+"@send.test>")
		equal(t, "no deadline", m.ExpiresAt.IsZero(), true)
		a, b := before.Content.Attachments[0], m.Content.Attachments[0]
		if a.Blob == b.Blob || a.SHA256 != b.SHA256 || a.Name != b.Name {
			t.Errorf("attachment %+v was copied as %+v", a, b)
		}
		must(t, w.blobs.Delete(t.Context(), a.Blob))
		rc, err := w.blobs.Open(t.Context(), b.Blob)
		must(t, err)
		content, err := io.ReadAll(rc)
		must(t, err)
		must(t, rc.Close())
		equal(t, "content", string(content), "abc")

		replay, err := resend(func(q *accept.ResendRequest) { q.Key = "again"; q.Actor = postledger.Actor{Type: "user", ID: "u-1"} })
		must(t, err)
		equal(t, "replayed", replay.Replayed && replay.MessageID == rec.MessageID, true)
		_, err = resend(func(q *accept.ResendRequest) { q.Key = "again"; q.Deliveries = []postledger.ID{ds[0].ID} })
		refused(t, err, accept.CodeMismatch)

		_, err = resend(nothing) // its attachment is deleted
		refused(t, err, accept.CodeLost)
		_, err = resend(func(q *accept.ResendRequest) {
			q.Deliveries = []postledger.ID{ds[3].ID, w.ledger.NewID(), ds[0].ID, ds[0].ID}
		})
		sameList(t, "chosen", broken(t, err), []string{"deliveries[0] not_allowed", "deliveries[1] unknown", "deliveries[3] duplicate"})

		last := w.audits()[1]
		equal(t, "audit", last.Action+" "+last.TargetID, "message.resend "+rec.MessageID.String())
	})
}

// Invariant 18, and an operator who may see every app's messages.
func TestWhoMayResend(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		old, _, ds := w.accepted(good())
		w.settle(old.MessageID, map[postledger.ID]postledger.Status{ds[0].ID: postledger.StatusSent})
		q := &accept.ResendRequest{Message: old.MessageID, Deliveries: []postledger.ID{ds[0].ID}}
		other := accept.Caller{App: w.app("second")}
		_, foreign := w.Resend(t.Context(), other, q)
		_, unknown := w.Resend(t.Context(), other, &accept.ResendRequest{Message: w.ledger.NewID()})
		refused(t, foreign, accept.CodeUnknown)
		equal(t, "foreign and unknown", foreign.Error(), unknown.Error())
		rec, err := w.Resend(t.Context(), accept.Caller{}, q)
		must(t, err)
		m, _ := w.read(rec.MessageID)
		equal(t, "app", m.AppID, w.caller.App)
	})
}

// Invariant 7 counts a resend like any message; a profile that is gone refuses it.
func TestAResendIsAMessageLikeAnyOther(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		r := good()
		r.Attachments = file(nil)
		old, _, ds := w.accepted(r)
		w.settle(old.MessageID, map[postledger.ID]postledger.Status{ds[0].ID: postledger.StatusFailed})
		one := int64(1)
		w.reconfigure(func(c *postledger.ProfileConfig) { c.QuotaPerDay = &one })
		_, err := w.Resend(t.Context(), w.caller, &accept.ResendRequest{Message: old.MessageID})
		refused(t, err, accept.CodeQuota)
		equal(t, "blobs", len(w.blobKeys()), 1)
		_, err = w.Resend(t.Context(), w.caller, &accept.ResendRequest{Message: old.MessageID, Deadline: accept.Deadline{At: time.Unix(1, 0)}})
		sameList(t, "deadline", broken(t, err), []string{"deadline range"})
	})
}
