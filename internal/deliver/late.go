package deliver

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/journal"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/settle"
)

// answeredLate settles what journals of ended workers prove. Another machine gave them up
// for lost while this one was away, and what they had leased is unconfirmed; the answers that
// they had read and not settled are certain all the same (invariant 3), as long as nobody has
// leased the delivery since, which its fence tells. A temporary refusal changes nothing:
// whether to send again what was in doubt is for the policy or an operator.
//
// After a crash here the journals are still there, and settling twice changes nothing.
func (w *Worker) answeredLate(ctx context.Context, journals []string) error {
	for _, path := range journals {
		dead, err := journal.Open(path)
		if err != nil {
			continue // it proves nothing, or lives
		}
		ss := answers(dead.Records())
		if err := dead.Close(); err != nil {
			return fmt.Errorf("close journal: %w", err)
		}
		for len(ss) > 0 {
			n := min(len(ss), recoveryPage)
			out, err := w.c.Ledger.Settle(ctx, ss[:n])
			if err != nil {
				return fmt.Errorf("settle late answers: %w", err)
			}
			w.report(out)
			ss = ss[n:]
		}
	}
	return nil
}

// answers are the records' final answers. Their texts are left out: a reply may repeat the
// address, which is not at hand to be taken out of it.
func answers(records []journal.Record) []ledger.Settlement {
	var ss []ledger.Settlement
	for _, r := range records {
		for i, o := range r.Outcomes {
			if o.Class != postledger.OutcomeAccepted && o.Class != postledger.OutcomeRefused {
				continue
			}
			o.Text = ""
			m := ledger.Leased{Delivery: postledger.Delivery{ID: r.Members[i].Delivery, Fence: r.Members[i].Fence}}
			ss = append(ss, settle.Decide(&settle.Tried{
				Members: []ledger.Leased{m}, Outcomes: []postledger.Outcome{o}, Mover: postledger.MoverWorker,
			}, rand.Float64, nil)...)
		}
	}
	return ss
}
