package settle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// OperatorStore is what decisions about deliveries are written through.
type OperatorStore interface {
	Store
	Cancel(ctx context.Context, ids []postledger.ID, reason postledger.Reason, actor string) ([]ledger.Canceled, error)
	SelectOpen(ctx context.Context, f ledger.Filter, after ledger.Mark, limit int) (ledger.Selection, error)
	SelectUnconfirmed(ctx context.Context, f ledger.Filter, after ledger.Mark, limit int) (ledger.Selection, error)
	NotYetDue(ctx context.Context, ids []postledger.ID) (map[postledger.ID]time.Duration, error)
}

// Operator writes what people decide about deliveries: those of one message,
// or all that a filter chooses. Each step of a filter is a transaction of its
// own, so a decision that is cut short has taken effect for a part, and can be
// repeated: what was decided already is not met again, or not changed.
type Operator struct {
	store OperatorStore
	wake  func([]ledger.ClaimKey)
}

// NewOperator makes an operator; wake, which may be nil, is told of keys whose
// deliveries are due again.
func NewOperator(store OperatorStore, wake func([]ledger.ClaimKey)) *Operator {
	if wake == nil {
		wake = func([]ledger.ClaimKey) {}
	}
	return &Operator{store: store, wake: wake}
}

// operatorPage bounds one transaction.
const operatorPage = 500

// Decided counts what a decision met.
type Decided struct {
	// Done were changed as decided.
	Done int
	// Wished are on the wire or unconfirmed: a cancel was noted on them. The
	// wire's outcome wins; what nobody accepted is canceled then, and nothing
	// unconfirmed is sent again.
	Wished int
	// Unchanged had settled, or were forbidden to move.
	Unchanged int
	// More says that the call ended before the filter did: repeat it.
	More bool
}

func (d *Decided) add(o Decided) {
	d.Done += o.Done
	d.Wished += o.Wished
	d.Unchanged += o.Unchanged
}

// Cancel takes back the deliveries that a filter chooses.
func (o *Operator) Cancel(ctx context.Context, f ledger.Filter, reason postledger.Reason, actor string) (Decided, error) {
	return walk(ctx, o.store.SelectOpen, f, func(ids []postledger.ID) (Decided, error) {
		out, err := o.store.Cancel(ctx, ids, reason, actor)
		var d Decided
		for _, c := range out {
			switch {
			case c.Done:
				d.Done++
			case c.Wished:
				d.Wished++
			default:
				d.Unchanged++
			}
		}
		return d, err
	})
}

// ResolveSent says that unconfirmed deliveries were sent.
func (o *Operator) ResolveSent(ctx context.Context, f ledger.Filter, actor string) (Decided, error) {
	return o.resolve(ctx, f, ledger.Settlement{
		Mover: postledger.MoverOperator, To: postledger.StatusSent, Reason: postledger.ReasonResolved,
		Event: &ledger.Event{Kind: "resolved", Actor: actor},
	})
}

// Resend sends unconfirmed deliveries again: the same rows, with the Message-ID
// and the Date they had. One that somebody wished to cancel stays, and one whose
// message has a time ahead waits for it: a restored ledger's scheduled mail was
// never on the wire.
func (o *Operator) Resend(ctx context.Context, f ledger.Filter, actor string) (Decided, error) {
	return o.resolve(ctx, f, ledger.Settlement{
		Mover: postledger.MoverOperator, To: postledger.StatusQueued, Reason: postledger.ReasonResend,
		Event: &ledger.Event{Kind: ledger.EventResend, Actor: actor}, OwnEnvelope: true,
	})
}

func (o *Operator) resolve(ctx context.Context, f ledger.Filter, s ledger.Settlement) (Decided, error) {
	return walk(ctx, o.store.SelectUnconfirmed, f, func(ids []postledger.ID) (Decided, error) {
		var ahead map[postledger.ID]time.Duration
		if s.To == postledger.StatusQueued {
			var err error
			if ahead, err = o.store.NotYetDue(ctx, ids); err != nil {
				return Decided{}, err
			}
		}
		ss := make([]ledger.Settlement, len(ids))
		for i, id := range ids {
			ss[i] = s
			ss[i].ID, ss[i].Fence, ss[i].Delay = id, ledger.AnyFence, ahead[id]
		}
		out, err := o.store.Settle(ctx, ss)
		var d Decided
		due := map[ledger.ClaimKey]bool{}
		for _, r := range out {
			if !r.Applied {
				d.Unchanged++
				continue
			}
			d.Done++
			if r.Status == postledger.StatusQueued {
				due[ledger.ClaimKey{Profile: r.ProfileID, Lane: r.Lane, App: r.AppID}] = true
			}
		}
		if len(due) > 0 {
			keys := make([]ledger.ClaimKey, 0, len(due))
			for k := range due {
				keys = append(keys, k)
			}
			o.wake(keys)
		}
		return d, err
	})
}

// walk decides page by page until the filter or the context ends. A context
// that ends after the first page is no error: the answer says that there is
// more.
func walk(
	ctx context.Context, sel func(context.Context, ledger.Filter, ledger.Mark, int) (ledger.Selection, error),
	f ledger.Filter, decide func([]postledger.ID) (Decided, error),
) (Decided, error) {
	var sum Decided
	var after ledger.Mark
	for page := 0; ; page++ {
		s, err := sel(ctx, f, after, operatorPage)
		if err == nil && len(s.IDs) > 0 {
			var d Decided
			d, err = decide(s.IDs)
			sum.add(d)
		}
		switch {
		case err != nil && page > 0 && ctx.Err() != nil && errors.Is(err, ctx.Err()):
			sum.More = true
			return sum, nil
		case err != nil:
			return sum, fmt.Errorf("decide about deliveries: %w", err)
		case s.Done:
			return sum, nil
		}
		after = s.Next
	}
}
