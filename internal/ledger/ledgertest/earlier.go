package ledgertest

import (
	"fmt"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// earlierSettle is what a binary of schema 2 wrote to a message's row beside
// each delivery that it settled, and by which alone it purges content.
const earlierSettle = `UPDATE messages SET unsettled = unsettled - 1,
	settled_at = CASE WHEN unsettled = 1 THEN CAST(? AS bigint) END WHERE id = ?`

// Earlier: a binary of schema 2 works beside this one, or did before it. Whoever
// of the two settled which delivery, this one reads when the message was settled
// and purges it, the books balance, and the earlier one finds no message settled
// that is open.
func Earlier(t *testing.T, open Opener, exec Exec) {
	w := NewWorld(t, open)
	// A way of a message of two: each settles, the doubtful one is sent again
	// and settles once more. A bit says whether the earlier one did the step.
	for way := range 1 << 3 {
		for _, to := range [][]string{{"a@x.example"}, {"a@x.example", "b@x.example"}} {
			w.T.Run(fmt.Sprintf("%d recipients, way %03b", len(to), way), func(t *testing.T) {
				defer func(t *testing.T) { w.T = t }(w.T)
				w.T = t
				ids := w.Send(to)
				message := w.Row(ids[0]).MessageID
				lastly := w.LeaseN(1)
				settle := func(step int, s ledger.Settlement) {
					t.Helper()
					if s.Mover = postledger.MoverWorker; !w.MustSettle(s).Applied {
						t.Fatalf("step %d was refused", step)
					}
					if way>>step&1 == 1 {
						exec(t, w.Ledger, earlierSettle, w.Row(s.ID).SettledAt.UnixMicro(), message)
					}
				}
				expect := func(settled bool) {
					t.Helper()
					if got := !w.settledAt(message).IsZero(); got != settled {
						t.Errorf("settled %v, want %v", got, settled)
					}
					balanced(t, w)
				}
				expect(false)
				settle(0, ledger.Settlement{ID: lastly[0].ID, Fence: 1, To: postledger.StatusUnconfirmed, Reason: postledger.ReasonNoAnswer, Event: &ledger.Event{Kind: "doubt"}})
				expect(len(to) == 1)
				if len(to) == 2 {
					settle(1, ledger.Settlement{ID: lastly[1].ID, Fence: 1, To: postledger.StatusSent})
				}
				expect(true)
				if !w.MustSettle(ledger.Settlement{ID: lastly[0].ID, Fence: ledger.AnyFence, Mover: postledger.MoverOperator, To: postledger.StatusQueued, Reason: postledger.ReasonResend}).Applied {
					t.Fatal("the doubtful one is not sent again")
				}
				expect(false)
				for _, l := range w.LeaseN(1) {
					expect(false)
					settle(2, ledger.Settlement{ID: l.ID, Fence: l.Fence, To: postledger.StatusSent})
				}
				expect(true)
				if p := purgeIn(t, t.Context(), w, w.PurgeContent, 100); p.Messages != 1 || p.KeptOpen != 0 {
					t.Errorf("content: %+v", p)
				}
				if p := purgeIn(t, t.Context(), w, w.PurgeRecords, 100); p.Messages != 1 || p.Deliveries != len(to) {
					t.Errorf("records: %+v", p)
				}
				balanced(t, w)
			})
		}
	}
}
