package deliver

import (
	"context"
	"log/slog"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

const (
	// sweepPage bounds one transaction of a sweep.
	sweepPage = 1000
	// resendSteps bounds what a sweep looks at for one profile that sends again, of
	// sweepPage each: what was sent again in vain stays unconfirmed, and of much of it
	// each sweep looks at a part.
	resendSteps = 10
)

// sweep settles what waits and must not be sent any more, and sends again what
// a profile's policy says so about. It ends at the first error, which it returns.
func (w *Worker) sweep(ctx context.Context) (failed error) {
	// page settles what it is given ids of, and says whether there may be more.
	page := func(what string, ids func() ([]postledger.ID, error), s ledger.Settlement) (more bool) {
		if ctx.Err() != nil || failed != nil {
			return false
		}
		list, err := ids()
		if err == nil && len(list) > 0 {
			ss := make([]ledger.Settlement, len(list))
			for i, id := range list {
				ss[i] = s
				ss[i].ID, ss[i].Fence = id, ledger.AnyFence
			}
			var out []ledger.Settled
			if out, err = w.c.Ledger.Settle(ctx, ss); err == nil {
				w.report(out)
			}
		}
		if err != nil && ctx.Err() == nil {
			w.c.Log.Error(what, slog.Any("error", err))
		}
		failed = err
		return err == nil && len(list) == sweepPage
	}
	list := func(what string, ids func() ([]postledger.ID, error), s ledger.Settlement) {
		for page(what, ids, s) {
		}
	}
	list("expire deliveries", func() ([]postledger.ID, error) {
		return w.c.Ledger.PastDeadline(ctx, sweepPage)
	}, ledger.Settlement{
		Mover: postledger.MoverSweep, To: postledger.StatusFailed, Reason: postledger.ReasonExpired, Event: &ledger.Event{Kind: "expired"},
	})
	w.mu.Lock()
	var removed, resend []postledger.ID
	var revoked []Pair
	for id, l := range w.lineups {
		if !l.profile.RemovedAt.IsZero() {
			removed = append(removed, id)
		} else if l.profile.Config.OnUnconfirmed == postledger.UnconfirmedResend {
			resend = append(resend, id)
		}
	}
	for k := range w.keys {
		if w.barred(k.App, k.Profile) {
			revoked = append(revoked, Pair{k.App, k.Profile})
		}
	}
	w.mu.Unlock()
	for _, id := range removed {
		list("cancel under a removed profile", func() ([]postledger.ID, error) {
			return w.c.Ledger.WaitingUnder(ctx, id, postledger.ID{}, sweepPage)
		}, ledger.Settlement{
			Mover: postledger.MoverSweep, To: postledger.StatusCanceled, Reason: postledger.ReasonProfileRemoved, Event: &ledger.Event{Kind: "canceled"},
		})
	}
	for _, p := range revoked {
		list("cancel under a revoked grant", func() ([]postledger.ID, error) {
			return w.c.Ledger.WaitingUnder(ctx, p.Profile, p.App, sweepPage)
		}, ledger.Settlement{
			Mover: postledger.MoverSweep, To: postledger.StatusCanceled, Reason: postledger.ReasonAccessRevoked, Event: &ledger.Event{Kind: "canceled"},
		})
	}
	for _, id := range resend {
		for steps := resendSteps; steps > 0; steps-- {
			step := ledger.Selection{Done: true}
			page("send unconfirmed deliveries again", func() (_ []postledger.ID, err error) {
				step, err = w.c.Ledger.ResendDue(ctx, id, w.resends[id], sweepPage)
				return step.IDs, err
			}, ledger.Settlement{
				Mover: postledger.MoverOperator, To: postledger.StatusQueued, Reason: postledger.ReasonResend,
				Event: &ledger.Event{Kind: ledger.EventResend, Actor: ledger.ActorPolicy}, OwnEnvelope: true,
			})
			w.resends[id] = step.Next
			if step.Done || failed != nil {
				delete(w.resends, id)
				break
			}
		}
	}
	return failed
}
