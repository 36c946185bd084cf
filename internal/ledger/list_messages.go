package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/postledger/postledger"
)

// Messages lists messages, newest first: by ids, batch, reference, recipient
// (each message has an address once), app, or the primary key. States choose
// messages with a delivery in one of them. Message and the searches in
// addresses are for lists of deliveries. Errors are those of Deliveries.
func (l *Ledger) Messages(ctx context.Context, f Filter, p Paging) (Page[postledger.Message], error) {
	out, err := l.listMessages(ctx, f.normal(), p)
	if err != nil {
		return out, fmt.Errorf("list messages: %w", err)
	}
	return out, nil
}

func (l *Ledger) listMessages(ctx context.Context, f Filter, p Paging) (Page[postledger.Message], error) {
	var out Page[postledger.Message]
	if err := p.check(); err != nil {
		return out, err
	}
	switch {
	case f.Prefix != "":
		return out, &FilterError{"prefix", "is for lists of deliveries"}
	case f.Domain != "":
		return out, &FilterError{"domain", "is for lists of deliveries"}
	case f.Contains != "":
		return out, &FilterError{"contains", "is for lists of deliveries"}
	}
	if err := f.check(); err != nil {
		return out, err
	}
	hash, err := hashFilter(f)
	if err != nil {
		return out, err
	}
	at, err := decodePlace(listMessages, p.Cursor, hash)
	if err != nil {
		return out, err
	}
	err = l.listing(ctx, func(ctx context.Context, t *tx) error {
		got, total, err := t.readMessages(ctx, &f, at, p)
		if err != nil {
			return err
		}
		out = page(listMessages, at, p.Cursor == "", p.Limit, got)
		out.Total = total
		return nil
	})
	return out, err
}

func (t *tx) readMessages(ctx context.Context, f *Filter, at place, p Paging) (found[postledger.Message], *Total, error) {
	read := t.messagesByPlan
	if f.byRecipient() {
		read = t.messagesByRecipient
	}
	got, total, err := read(ctx, f, at, p)
	if err != nil {
		return got, nil, err
	}
	return got, total, t.fillSettled(ctx, got.rows)
}

// byRecipient: nothing narrower than the recipient is asked for.
func (f *Filter) byRecipient() bool {
	return f.Recipient != "" && len(f.IDs) == 0 && !f.byMessages()
}

// messagesByRecipient walks the recipient's deliveries, and its keys are
// theirs: a message has an address once, so it comes once.
func (t *tx) messagesByRecipient(ctx context.Context, f *Filter, at place, p Paging) (found[postledger.Message], *Total, error) {
	var got found[postledger.Message]
	ds, total, err := t.deliveriesByPlan(ctx, f, at, p)
	if err != nil {
		return got, nil, err
	}
	if ds.end != nil {
		got.end = &keyed[postledger.Message]{id: ds.end.id}
	}
	if len(ds.rows) == 0 {
		return got, total, nil
	}
	ids := make([]postledger.ID, len(ds.rows))
	for i := range ids {
		ids[i] = ds.rows[i].item.MessageID
	}
	byID := make(map[postledger.ID]postledger.Message, len(ids))
	where, args := t.anyOf("m.id", ids)
	err = t.each(ctx, func(rows *sql.Rows) error {
		var m postledger.Message
		err := rows.Scan(messageDest(&m)...)
		byID[m.ID] = m
		return err
	}, `SELECT `+messageColumns+` FROM messages m WHERE `+where, args...)
	for i, id := range ids {
		got.rows = append(got.rows, keyed[postledger.Message]{item: byID[id], id: ds.rows[i].id})
	}
	return got, total, err
}

func (t *tx) messagesByPlan(ctx context.Context, f *Filter, at place, p Paging) (found[postledger.Message], *Total, error) {
	var got found[postledger.Message]
	q := t.messagePlan(f)
	c := q.rows(t, messageColumns, at, p.Limit)
	err := t.each(ctx, func(rows *sql.Rows) error {
		var m postledger.Message
		err := rows.Scan(messageDest(&m)...)
		got.rows = append(got.rows, keyed[postledger.Message]{item: m, id: m.ID})
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
			got.end = &keyed[postledger.Message]{id: end}
		}
	}
	if !p.Total {
		return got, nil, nil
	}
	total, err := q.total(ctx, t, messageColumns)
	return got, total, err
}

// messagePlan chooses the index.
func (t *tx) messagePlan(f *Filter) *plan {
	q := &plan{from: "messages", p: "m"}
	q.low, q.high = idRange(f.Since, f.Until)
	q.span = span{"m.created_at", f.Since, f.Until}
	var b branch
	app := !f.App.IsZero()
	switch {
	case len(f.IDs) > 0:
		where, args := t.anyOf("m.id", f.IDs)
		b.and(where, args...)
		if of := f.messagesOnly(); of.sql != "" {
			q.rest.and(of.sql, of.args...)
		}
	case f.byMessages():
		b.cond = f.messagesOnly()
		q.hint = t.messagesHint(f)
	case app:
		b.prefix, b.values = []string{"m.app_id"}, []any{f.App}
		q.hint = t.indexedBy("messages_app")
		app = false
	}
	if app {
		b.and("m.app_id = ?", f.App)
	}
	if len(b.prefix) == 0 {
		b.cond = b.cond.with(timed("m.created_at", f.Since, f.Until))
	}
	q.branches = []branch{b}
	if !f.Profile.IsZero() {
		q.rest.and("m.profile_id = ?", f.Profile)
	}
	if f.Lane != "" {
		q.rest.and("m.lane = ?", string(f.Lane))
	}
	if len(f.Statuses) > 0 || f.Recipient != "" {
		var c cond
		if len(f.Statuses) > 0 {
			list, args := in(nil, f.Statuses)
			c.and("d.status IN "+list, texts(args)...)
		}
		if f.Recipient != "" {
			c.and("d.address_folded = ?", f.Recipient)
		}
		q.rest.and("EXISTS (SELECT 1 FROM ("+t.deliveriesOfMessage()+") d WHERE "+c.sql+")", c.args...)
	}
	return q
}

// deliveriesOfMessage are those of message m, looked up row by row. PostgreSQL's
// planner would else join with all deliveries that are in the state asked for,
// and read a million of them for a page of fifty; the OFFSET keeps it from that.
func (t *tx) deliveriesOfMessage() string {
	query := "SELECT d.status, d.address_folded FROM deliveries d WHERE d.message_id = m.id"
	if t.dialect == postgres {
		query += " OFFSET 0"
	}
	return query
}
