package deliver_test

import (
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/journal"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// Invariant 3: a certain answer is never refused, also when another machine has given its
// worker up for lost meanwhile. What the machine's journal proves is settled when it comes back.
func TestAMachineThatComesBackSettlesItsAnswers(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{}, nil)
		state, err := r.ReadState(t.Context())
		must(t, err)
		ids := r.Send([]string{"accepted@x.example", "refused@x.example", "begun@x.example", "deferred@x.example", "taken@x.example"})
		leased := map[postledger.ID]ledger.Leased{}
		for _, l := range r.LeaseN(len(ids)) {
			leased[l.ID] = l
		}
		dead, err := journal.Create(r.dir, journal.Owner{Ledger: state.LedgerID, Worker: r.Worker.ID}, 8)
		must(t, err)
		for i, o := range []*postledger.Outcome{
			{Class: postledger.OutcomeAccepted, ProviderID: "their-id"},
			{Class: postledger.OutcomeRefused, Code: 550, Text: "no <refused@x.example> here"},
			nil,
			{Class: postledger.OutcomeDeferred, Code: 451},
			{Class: postledger.OutcomeAccepted},
		} {
			l := leased[ids[i]]
			slot, err := dead.Begun(l.EnvelopeID, []journal.Member{{Delivery: l.ID, Fence: l.Fence}}, nil)
			must(t, err)
			if o != nil {
				must(t, dead.Answered(slot, []postledger.Outcome{*o}))
			}
		}
		must(t, dead.Abandon())
		// Another machine sees no heartbeat and no journal.
		for _, id := range ids {
			r.MustSettle(ledger.Settlement{
				ID: id, Fence: leased[id].Fence, Owner: r.Worker.ID, Mover: postledger.MoverRecovery,
				To: postledger.StatusUnconfirmed, Reason: postledger.ReasonWorkerLost, Charged: true,
			})
		}
		must(t, r.EndWorker(t.Context(), r.Worker.ID))
		// An operator had the last one sent again, under the next fence.
		r.MustSettle(ledger.Settlement{ID: ids[4], Fence: ledger.AnyFence, Mover: postledger.MoverOperator, To: postledger.StatusQueued, Reason: postledger.ReasonResend})
		r.start()
		want := []postledger.Status{postledger.StatusSent, postledger.StatusFailed, postledger.StatusUnconfirmed, postledger.StatusUnconfirmed, postledger.StatusSent}
		for i, d := range r.settled(ids...) {
			if d.Status != want[i] {
				t.Errorf("%s is %s/%s, want %s", d.Address, d.Status, d.Reason, want[i])
			}
			if i == 0 && d.ProviderID != "their-id" || i == 1 && d.Response != "" || i == 4 && d.Fence != 2 {
				t.Errorf("%s: provider's id %q, response %q, fence %d", d.Address, d.ProviderID, d.Response, d.Fence)
			}
		}
		if n := r.copies()["taken@x.example"]; n != 1 {
			t.Errorf("what was sent again has %d copies here", n)
		}
	})
}

// A policy that sends again what is in doubt does so once: a hop that fails at a message
// after its final dot, each time, would get it for ever.
func TestThePolicySendsAgainOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{
			Rules: []transporttest.Rule{{At: transporttest.StepDot, Do: transporttest.Action{Drop: true, Keep: true}}},
		}, func(c *postledger.ProfileConfig) { c.OnUnconfirmed = postledger.UnconfirmedResend })
		r.start()
		for _, to := range []string{"a@x.example", "b@x.example", "c@x.example"} {
			id := r.Send([]string{to})[0]
			r.until("it was sent again and is in doubt", func() bool {
				d := r.Row(id)
				return d.Status == postledger.StatusUnconfirmed && d.Fence == 2
			})
		}
		// The sweeps that sent the later ones again have looked at the first one too.
		for to, n := range r.copies() {
			if n != 2 {
				t.Errorf("%s has %d copies", to, n)
			}
		}
	})
}
