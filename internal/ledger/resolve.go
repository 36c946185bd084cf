package ledger

import (
	"context"
	"fmt"

	"github.com/postledger/postledger"
)

// Mark is how far a walk over a filter's deliveries has come; its zero value
// is the start.
type Mark struct{ major, id postledger.ID }

// Selection is one step of a walk. It may hold fewer ids than asked for, even
// none, and not be the last: a step reads a bounded number of rows.
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
	reason := f.Reason
	f.Reason = "" // a list refuses it
	p := Paging{Limit: limit}
	err := p.check()
	if err == nil {
		err = f.check()
	}
	if err == nil {
		err = l.listing(ctx, func(ctx context.Context, t *tx) error {
			read := t.selectByPlan
			if f.byMessages() {
				read = t.selectByMessages
			}
			at := place{newer: true, major: after.major, id: after.id}
			out, err = read(ctx, &f, reason, at, limit)
			return err
		})
	}
	if err != nil {
		return Selection{}, fmt.Errorf("select deliveries: %w", err)
	}
	return out, nil
}

// selectByPlan reads a step that an index of deliveries serves. The reason
// stands in no index: it is looked at row by row within ListBudget.
func (t *tx) selectByPlan(ctx context.Context, f *Filter, reason postledger.Reason, at place, limit int) (Selection, error) {
	q, err := t.deliveryPlan(ctx, f)
	if err != nil || len(q.branches) == 0 {
		return Selection{Done: true}, err
	}
	if reason != "" {
		q.rest.and("d.reason = ?", string(reason))
	}
	c := q.rows(t, deliveryColumns, at, limit)
	ids, err := t.ids(ctx, "SELECT d.id FROM ("+c.sql+") d ORDER BY d.id", c.args...)
	if err != nil {
		return Selection{}, err
	}
	if len(ids) > limit {
		return Selection{IDs: ids[:limit], Next: Mark{id: ids[limit-1]}}, nil
	}
	end, more, err := q.end(ctx, t, at, q.read(limit))
	return Selection{IDs: ids, Next: Mark{id: end}, Done: !more}, err
}

// selectByMessages reads a step of the deliveries of messages, which are few.
func (t *tx) selectByMessages(ctx context.Context, f *Filter, reason postledger.Reason, at place, limit int) (Selection, error) {
	got, _, err := t.deliveriesByMessages(ctx, f, at, Paging{Limit: limit})
	if err != nil {
		return Selection{}, err
	}
	out := Selection{Done: true}
	rows := got.rows[:min(len(got.rows), limit)]
	for _, r := range rows {
		if reason == "" || r.item.Reason == reason {
			out.IDs = append(out.IDs, r.item.ID)
		}
	}
	ahead := got.end
	if len(got.rows) > limit {
		ahead = &rows[limit-1]
	}
	if ahead != nil {
		out.Next, out.Done = Mark{ahead.major, ahead.id}, false
	}
	return out, nil
}
