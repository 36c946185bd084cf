package ledger

import (
	"context"
	"fmt"

	"github.com/postledger/postledger"
)

// Mark is how far a walk over a filter's deliveries has come; its zero value
// is the start.
type Mark struct{ major, id postledger.ID }

// Selection is one step of a walk.
type Selection struct {
	IDs []postledger.ID
	// Next is where the next step starts; Done says that there is none.
	Next Mark
	Done bool
}

// SelectUnconfirmed walks a filter's unconfirmed deliveries, oldest first: what
// an operator resolves or sends again.
func (l *Ledger) SelectUnconfirmed(ctx context.Context, f Filter, after Mark, limit int) (Selection, error) {
	f.Statuses = []postledger.Status{postledger.StatusUnconfirmed}
	return l.selectIDs(ctx, f, after, limit)
}

// SelectOpen walks a filter's deliveries that a cancel can still reach, oldest
// first: each step's ids are canceled (Cancel) before the next is read. What
// has left the filter meanwhile is not met again. An empty filter is refused:
// it would be everything, and is more likely a mistake.
func (l *Ledger) SelectOpen(ctx context.Context, f Filter, after Mark, limit int) (Selection, error) {
	if f.empty() {
		return Selection{}, fmt.Errorf("select deliveries: %w", &FilterError{"filter", "must not be empty"})
	}
	f.Statuses = []postledger.Status{postledger.StatusQueued, postledger.StatusSending, postledger.StatusUnconfirmed}
	return l.selectIDs(ctx, f, after, limit)
}

func (l *Ledger) selectIDs(ctx context.Context, f Filter, after Mark, limit int) (Selection, error) {
	var out Selection
	f = f.normal()
	p := Paging{Limit: limit}
	err := p.check()
	if err == nil {
		err = f.check()
	}
	if err == nil {
		err = l.listing(ctx, func(ctx context.Context, t *tx) error {
			read := t.deliveriesByPlan
			if f.byMessages() {
				read = t.deliveriesByMessages
			}
			got, _, err := read(ctx, &f, place{newer: true, major: after.major, id: after.id}, p)
			if err != nil {
				return err
			}
			rows := got.rows[:min(len(got.rows), limit)]
			for _, r := range rows {
				out.IDs = append(out.IDs, r.item.ID)
			}
			switch {
			case len(got.rows) > limit:
				out.Next = Mark{rows[limit-1].major, rows[limit-1].id}
			case got.end != nil:
				out.Next = Mark{got.end.major, got.end.id}
			default:
				out.Done = true
			}
			return nil
		})
	}
	if err != nil {
		return Selection{}, fmt.Errorf("select deliveries: %w", err)
	}
	return out, nil
}
