package deliver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

func TestSendsEachOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{}, nil)
		var ids []postledger.ID
		for i := range 40 {
			lane := postledger.LaneImmediate
			if i%2 == 0 {
				lane = postledger.LaneBulk
			}
			ids = append(ids, r.Send([]string{fmt.Sprintf("a%d@x.example", i), fmt.Sprintf("b%d@x.example", i)}, ledgertest.WithLane(lane))...)
		}
		r.start()
		for _, d := range r.settled(ids...) {
			if d.Status != postledger.StatusSent || d.Attempts != 1 || d.SentAt.IsZero() || !strings.HasPrefix(d.Response, "250") {
				t.Fatalf("row %+v", d)
			}
		}
		copies := r.copies()
		if len(copies) != 80 {
			t.Errorf("%d addresses at the hop", len(copies))
		}
		for to, n := range copies {
			if n != 1 {
				t.Errorf("%s has %d copies", to, n)
			}
		}
	})
}

func TestRecipientsHaveTheirOwnOutcomes(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepRcpt, Recipient: "gone@x.example", Do: transporttest.Answer("550 5.1.1 <gone@x.example> unknown")},
			{At: transporttest.StepRcpt, Recipient: "later@x.example", Do: transporttest.Answer("450 4.2.0 greylisted")},
		}}, nil)
		ids := r.Send([]string{"a@x.example", "gone@x.example", "later@x.example", "b@x.example"})
		r.start()
		rows := r.settled(ids[0], ids[1], ids[3])
		for i, want := range []postledger.Status{postledger.StatusSent, postledger.StatusFailed, postledger.StatusSent} {
			if rows[i].Status != want {
				t.Errorf("row %d is %s, want %s", i, rows[i].Status, want)
			}
		}
		if rows[1].Reason != postledger.ReasonRejectedRecipient || strings.Contains(rows[1].Response, "gone@") || !strings.Contains(rows[1].Response, "{rcpt}") {
			t.Errorf("refused row: %s %q", rows[1].Reason, rows[1].Response)
		}
		later := r.Row(ids[2])
		if later.Status != postledger.StatusQueued || later.Reason != postledger.ReasonDeferred || later.Attempts != 1 ||
			later.EnvelopeID != later.ID || time.Until(later.DueAt) < 40*time.Second {
			t.Errorf("deferred row: %+v", later)
		}
	})
}

func TestLostAnswerIsUnconfirmed(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepDot, Do: transporttest.Action{Keep: true, Drop: true}},
		}}, nil)
		ids := r.Send([]string{"a@x.example", "b@x.example"})
		r.start()
		for _, d := range r.settled(ids...) {
			if d.Status != postledger.StatusUnconfirmed || d.Reason != postledger.ReasonNoAnswer || d.ResolveBy.IsZero() {
				t.Errorf("row %+v", d)
			}
		}
	})
}

// Invariant 4's other side: what was never begun is free again.
func TestDropBeforeTheDotIsRetried(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepData, Times: 1, Do: transporttest.Action{Drop: true}},
		}}, nil)
		id := r.Send([]string{"a@x.example"})[0]
		r.start()
		r.until("it waits again", func() bool { return r.Row(id).Attempts == 1 })
		if d := r.Row(id); d.Status != postledger.StatusQueued || d.Reason != postledger.ReasonDeferred {
			t.Errorf("row %+v", d)
		}
	})
}

func TestCancelWhileTheHopHoldsTheDot(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		held, reached := make(chan struct{}), make(chan struct{})
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepDot, Do: transporttest.Action{Hook: func() { close(reached) }, Hold: held}},
		}}, nil)
		id := r.Send([]string{"a@x.example"})[0]
		r.start()
		<-reached
		done, err := r.Cancel(t.Context(), []postledger.ID{id}, postledger.ReasonCanceledByApp, "app")
		if err != nil || !done[0].Wished {
			t.Fatalf("cancel: %+v %v", done, err)
		}
		close(held)
		if d := r.settled(id)[0]; d.Status != postledger.StatusSent {
			t.Errorf("the wire's outcome wins: %+v", d)
		}
	})
}

func TestUnreachableHopChargesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepGreeting, Times: 3, Do: transporttest.Goodbye("421 4.3.2 not now")},
		}}, nil)
		var ids []postledger.ID
		for range 10 {
			ids = append(ids, r.Send([]string{"a@x.example"})...)
		}
		r.start()
		for _, d := range r.settled(ids...) {
			if d.Status != postledger.StatusSent || d.Attempts != 1 {
				t.Errorf("row %+v", d)
			}
		}
	})
}

// Case B35: a relay that refuses our login pauses the profile; nothing fails.
func TestRefusedLoginPausesTheProfile(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepMail, Do: transporttest.Answer("530 5.7.0 authentication required")},
		}}, nil)
		var ids []postledger.ID
		for range 20 {
			ids = append(ids, r.Send([]string{"a@x.example"})...)
		}
		r.start()
		r.until("the profile is paused", func() bool {
			p, err := r.ProfileByID(t.Context(), r.Profile.ID)
			return err == nil && !p.PausedAt.IsZero() && p.Alarm != ""
		})
		r.until("all wait again", func() bool {
			for _, id := range ids {
				if d := r.Row(id); d.Status != postledger.StatusQueued || d.Attempts != 0 {
					return false
				}
			}
			return true
		})
	})
}

func TestSuppressedAndExpiredAreNotSent(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{}, nil)
		gone := r.Send([]string{"gone@x.example", "a@x.example"})
		late := r.Send([]string{"b@x.example"}, ledgertest.WithDeadline(time.Now().Add(-time.Second)))[0]
		err := r.PutSuppression(t.Context(), ledger.Suppression{
			AppID: r.App.ID, AddressFolded: "gone@x.example", Reason: "complaint", Source: "test",
		}, postledger.AuditEvent{ID: r.NewID(), Action: "suppression.put", Result: "done"})
		if err != nil {
			t.Fatal(err)
		}
		r.start()
		rows := r.settled(append(gone, late)...)
		if rows[0].Status != postledger.StatusSuppressed || rows[0].Reason != postledger.ReasonSuppressionList {
			t.Errorf("suppressed: %+v", rows[0])
		}
		if rows[1].Status != postledger.StatusSent {
			t.Errorf("the other recipient: %+v", rows[1])
		}
		if rows[2].Status != postledger.StatusFailed || rows[2].Reason != postledger.ReasonExpired {
			t.Errorf("expired: %+v", rows[2])
		}
		if n := len(r.copies()); n != 1 {
			t.Errorf("%d at the hop", n)
		}
	})
}
