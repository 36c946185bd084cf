package deliver

import (
	"context"
	"log/slog"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// sweepPage bounds one transaction of a sweep.
const sweepPage = 1000

// sweep settles what waits and must not be sent any more, and sends again what
// a profile's policy says so about. It ends at the first error, which it returns.
func (w *Worker) sweep(ctx context.Context) (failed error) {
	list := func(what string, ids func() ([]postledger.ID, error), s ledger.Settlement) {
		for ctx.Err() == nil && failed == nil {
			page, err := ids()
			if err == nil && len(page) > 0 {
				ss := make([]ledger.Settlement, len(page))
				for i, id := range page {
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
			if failed = err; err != nil || len(page) < sweepPage {
				return
			}
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
		var after postledger.ID
		list("send unconfirmed deliveries again", func() ([]postledger.ID, error) {
			ids, err := w.c.Ledger.ResendDue(ctx, id, after, sweepPage)
			if len(ids) > 0 {
				after = ids[len(ids)-1]
			}
			return ids, err
		}, ledger.Settlement{
			Mover: postledger.MoverOperator, To: postledger.StatusQueued, Reason: postledger.ReasonResend,
			Event: &ledger.Event{Kind: ledger.EventResend, Actor: ledger.ActorPolicy}, OwnEnvelope: true,
		})
	}
	return failed
}
