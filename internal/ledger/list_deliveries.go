package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/postledger/postledger"
)

// ListedDelivery is a delivery with what a list shows of its message.
type ListedDelivery struct {
	postledger.Delivery
	Subject  string
	BatchID  postledger.ID
	RefScope string
	RefID    string
}

// Deliveries lists deliveries, newest first. Each filter is served by an
// index, in this order of choice: ids (primary key), message, batch, reference
// and app (their messages' indexes), recipient, prefix, app with states,
// unconfirmed, the primary key; what is left over is looked at row by row
// within ListBudget. Errors: *FilterError, ErrFilterTooBroad, ErrBadCursor,
// ErrCursorFilter.
func (l *Ledger) Deliveries(ctx context.Context, f Filter, p Paging) (Page[ListedDelivery], error) {
	out, err := l.listDeliveries(ctx, f.normal(), p)
	if err != nil {
		return out, fmt.Errorf("list deliveries: %w", err)
	}
	return out, nil
}

func (l *Ledger) listDeliveries(ctx context.Context, f Filter, p Paging) (Page[ListedDelivery], error) {
	var out Page[ListedDelivery]
	if err := p.check(); err != nil {
		return out, err
	}
	if err := f.check(); err != nil {
		return out, err
	}
	hash, err := hashFilter(f)
	if err != nil {
		return out, err
	}
	at, err := decodePlace(listDeliveries, p.Cursor, hash)
	if err != nil {
		return out, err
	}
	err = l.listing(ctx, func(ctx context.Context, t *tx) error {
		var got found[ListedDelivery]
		var total *Total
		if f.byMessages() {
			got, total, err = t.deliveriesByMessages(ctx, &f, at, p)
		} else {
			got, total, err = t.deliveriesByPlan(ctx, &f, at, p)
		}
		if err != nil {
			return err
		}
		out = page(listDeliveries, at, p.Cursor == "", p.Limit, got)
		out.Total = total
		return t.addMessages(ctx, out.Items)
	})
	return out, err
}

// deliveriesByPlan reads a page that an index of deliveries serves.
func (t *tx) deliveriesByPlan(ctx context.Context, f *Filter, at place, p Paging) (found[ListedDelivery], *Total, error) {
	var got found[ListedDelivery]
	q, err := t.deliveryPlan(ctx, f)
	if err != nil {
		return got, nil, err
	}
	if len(q.branches) == 0 {
		return got, &Total{}, nil // an app without any branch: it has no rows
	}
	c := q.rows(t, deliveryColumns, at, p.Limit)
	err = t.each(ctx, func(rows *sql.Rows) error {
		var d ListedDelivery
		err := rows.Scan(deliveryDest(&d.Delivery)...)
		got.rows = append(got.rows, keyed[ListedDelivery]{item: d, id: d.ID})
		return err
	}, c.sql, c.args...)
	if err != nil {
		return got, nil, err
	}
	if len(got.rows) <= p.Limit {
		end, more, err := q.end(ctx, t, at, q.read(p.Limit))
		if err != nil {
			return got, nil, err
		}
		if more {
			got.end = &keyed[ListedDelivery]{id: end}
		}
	}
	var total *Total
	if p.Total {
		total, err = q.total(ctx, t, deliveryColumns)
	}
	return got, total, err
}

// deliveryPlan chooses the index.
func (t *tx) deliveryPlan(ctx context.Context, f *Filter) (*plan, error) {
	q := &plan{from: "deliveries", p: "d"}
	q.low, q.high = idRange(f.Since, f.Until)
	q.span = span{"d.created_at", f.Since, f.Until}
	times := timed("d.created_at", f.Since, f.Until)
	search := t.addressSearch(f)
	rest := func(withApp, withStatus bool) {
		if withApp && !f.App.IsZero() {
			q.rest.and("d.app_id = ?", f.App)
		}
		if withStatus && len(f.Statuses) > 0 {
			list, args := in(nil, f.Statuses)
			q.rest.and("d.status IN "+list, texts(args)...)
		}
		if !f.Profile.IsZero() {
			q.rest.and("d.profile_id = ?", f.Profile)
		}
		if f.Lane != "" {
			q.rest.and("d.lane = ?", string(f.Lane))
		}
	}
	searched := func() {
		if search.sql != "" {
			q.rest.and(search.sql, search.args...)
		}
	}
	one := func(sql string, args ...any) {
		var c cond
		c.and(sql, args...)
		q.branches = []branch{{cond: c.with(times)}}
	}
	switch {
	case len(f.IDs) > 0:
		where, args := t.anyOf("d.id", f.IDs)
		one(where, args...)
		rest(true, true)
		searched()
		if f.Recipient != "" {
			q.rest.and("d.address_folded = ?", f.Recipient)
		}
		if of := f.messagesOnly(); of.sql != "" {
			// A scalar subquery is never made a join: each id asks for its own
			// message, and a large batch is not read beside it.
			q.rest.and("(SELECT "+of.sql+" FROM messages m WHERE m.id = d.message_id)", of.args...)
		}
	case f.Recipient != "":
		q.hint = t.indexedBy("deliveries_address")
		one("d.address_folded = ?", f.Recipient)
		rest(true, true)
		searched()
	case f.Prefix != "" && f.Domain == "" && f.Contains == "":
		r := prefixRange(f.Prefix)
		var n int
		if err := t.row(ctx, []any{&n}, `SELECT count(*) FROM (SELECT 1 FROM deliveries d WHERE `+r.sql+` LIMIT ?) n`,
			append(r.args, TotalLimit+1)...); err != nil {
			return nil, err
		}
		if n <= TotalLimit {
			one(r.sql, r.args...)
			q.unordered = true
			q.hint = t.indexedBy("deliveries_address")
			rest(true, true)
			return q, nil
		}
		if f.App.IsZero() || f.Since.IsZero() || f.Until.IsZero() || f.Until.Sub(f.Since) > maxSearchSpan {
			return nil, tooBroad("more than 10,000 deliveries have this prefix: it needs an app, since and until, at most 31 days apart")
		}
		searched()
		return q, t.appBranches(ctx, f, q, times, rest)
	default:
		searched()
		return q, t.appBranches(ctx, f, q, times, rest)
	}
	return q, nil
}

// appBranches reads by app and states, by unconfirmed, or by the primary key.
func (t *tx) appBranches(ctx context.Context, f *Filter, q *plan, times cond, rest func(withApp, withStatus bool)) error {
	if f.App.IsZero() && len(f.Statuses) == 0 {
		q.branches = []branch{{cond: times}}
		rest(false, false)
		return nil
	}
	if f.App.IsZero() && len(f.Statuses) == 1 && f.Statuses[0] == postledger.StatusUnconfirmed {
		c := cond{sql: "d.resolve_by IS NOT NULL"}
		q.hint = t.indexedBy("deliveries_unconfirmed")
		q.branches = []branch{{cond: c.with(times)}}
		rest(false, false)
		return nil
	}
	apps := []postledger.ID{f.App}
	if f.App.IsZero() {
		all, err := t.apps(ctx, `ORDER BY id LIMIT ?`, maxBranches+1)
		if err != nil {
			return err
		}
		apps = apps[:0]
		for _, a := range all {
			apps = append(apps, a.ID)
		}
	}
	statuses := f.Statuses
	if len(statuses) == 0 {
		statuses = postledger.Statuses()
	}
	if len(apps)*len(statuses) > maxBranches {
		return tooBroad("states of so many apps: it needs an app, or one state at a time")
	}
	q.hint = t.indexedBy("deliveries_app")
	for _, a := range apps {
		for _, s := range statuses {
			q.branches = append(q.branches, branch{
				prefix: []string{"d.app_id", "d.status"}, values: []any{a, string(s)},
			})
		}
	}
	rest(false, false)
	return nil
}

// texts makes driver values of text types.
func texts(args []any) []any {
	for i, a := range args {
		if s, ok := a.(postledger.Status); ok {
			args[i] = string(s)
		}
	}
	return args
}

// addMessages fills in what a list shows of the messages, by primary key.
func (t *tx) addMessages(ctx context.Context, ds []ListedDelivery) error {
	at := map[postledger.ID][]int{}
	var ids []postledger.ID
	for i := range ds {
		m := ds[i].MessageID
		if at[m] == nil {
			ids = append(ids, m)
		}
		at[m] = append(at[m], i)
	}
	if len(ids) == 0 {
		return nil
	}
	where, args := t.anyOf("m.id", ids)
	return t.each(ctx, func(rows *sql.Rows) error {
		var id postledger.ID
		var d ListedDelivery
		if err := rows.Scan(&id, &d.Subject, &d.BatchID, &d.RefScope, &d.RefID); err != nil {
			return err
		}
		for _, i := range at[id] {
			ds[i].Subject, ds[i].BatchID, ds[i].RefScope, ds[i].RefID = d.Subject, d.BatchID, d.RefScope, d.RefID
		}
		return nil
	}, `SELECT m.id, m.subject, m.batch_id, m.ref_scope, m.ref_id FROM messages m WHERE `+where, args...)
}

// ids reads a list of ids.
func (t *tx) ids(ctx context.Context, query string, args ...any) ([]postledger.ID, error) {
	var out []postledger.ID
	err := t.each(ctx, func(rows *sql.Rows) error {
		var id postledger.ID
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	}, query, args...)
	return out, err
}
