package ledger

import (
	"context"
	"database/sql"

	"github.com/postledger/postledger"
)

// byMessages: the filter names messages, whose deliveries are then read.
func (f *Filter) byMessages() bool {
	return len(f.IDs) == 0 && (!f.Message.IsZero() || !f.Batch.IsZero() || f.RefID != "")
}

// messageBudget is how many messages one page reads of a batch or a reference:
// each has at most 50 deliveries, most have one.
const messageBudget = 1000

// deliveriesByMessages reads the deliveries of one message, of a batch or of a
// reference, ordered by message and then by delivery.
func (t *tx) deliveriesByMessages(ctx context.Context, f *Filter, at place, p Paging) (found[ListedDelivery], *Total, error) {
	var got found[ListedDelivery]
	inner := f.messagesOf()
	order, cmp := "DESC", "<"
	if at.newer {
		order, cmp = "ASC", ">"
	}
	from := func(at place, past bool) cond {
		c := inner
		if past {
			c = inner.with(cond{"m.id " + cmp + "= ?", []any{at.major[:]}})
		}
		c.sql = "SELECT m.id FROM messages m" + t.messagesHint(f) + " WHERE " + c.sql + " ORDER BY m.id " + order + " LIMIT ?"
		c.args = append(c.args, messageBudget)
		return c
	}
	rest := t.deliveriesWhere(f)
	query := func(columns string, src cond, limit int) cond {
		c := cond{"SELECT " + columns + " FROM (" + src.sql + ") m JOIN deliveries d ON d.message_id = m.id", src.args}
		if rest.sql != "" {
			c.sql += " WHERE " + rest.sql
			c.args = append(c.args, rest.args...)
		}
		return c
	}
	past := at.major != lastID || at.newer
	src := from(at, past)
	c := query(deliveryColumns, src, p.Limit)
	if past {
		glue := " WHERE "
		if rest.sql != "" {
			glue = " AND "
		}
		c.sql += glue + "(d.message_id " + cmp + " ? OR d.id " + cmp + " ?)"
		c.args = append(c.args, at.major[:], at.id[:])
	}
	c.sql += " ORDER BY m.id " + order + ", d.id " + order + " LIMIT ?"
	c.args = append(c.args, p.Limit+1)
	err := t.each(ctx, func(rows *sql.Rows) error {
		var d ListedDelivery
		err := rows.Scan(deliveryDest(&d.Delivery)...)
		got.rows = append(got.rows, keyed[ListedDelivery]{item: d, major: d.MessageID, id: d.ID})
		return err
	}, c.sql, c.args...)
	if err != nil {
		return got, nil, err
	}
	last := func(src cond) (postledger.ID, bool, error) {
		src.args[len(src.args)-1] = 1
		ids, err := t.ids(ctx, src.sql+" OFFSET ?", append(src.args, messageBudget-1)...)
		if err != nil || len(ids) == 0 {
			return postledger.ID{}, false, err
		}
		return ids[0], true, nil
	}
	if len(got.rows) <= p.Limit {
		end, more, err := last(from(at, past))
		if err != nil {
			return got, nil, err
		}
		if more {
			// Go on behind every delivery of the last message that was read.
			k := keyed[ListedDelivery]{major: end}
			if at.newer {
				k.id = lastID
			}
			got.end = &k
		}
	}
	if !p.Total {
		return got, nil, nil
	}
	order = "DESC"
	all := from(place{}, false)
	c = query("1", all, 0)
	var n int
	if err := t.row(ctx, []any{&n}, "SELECT count(*) FROM ("+c.sql+" LIMIT ?) n", append(c.args, TotalLimit+1)...); err != nil {
		return got, nil, err
	}
	total := &Total{N: min(n, TotalLimit), More: n > TotalLimit}
	if !total.More {
		_, total.More, err = last(from(place{}, false))
	}
	return got, total, err
}

// messagesOf are the conditions on the messages' own indexes.
func (f *Filter) messagesOf() cond {
	c := f.messagesOnly()
	if !f.App.IsZero() && f.RefID == "" {
		c.and("m.app_id = ?", f.App)
	}
	if low, high := idRange(f.Since, f.Until); !f.Since.IsZero() || !f.Until.IsZero() {
		c.and("m.id >= ? AND m.id < ?", low[:], high[:])
	}
	return c.with(timed("m.created_at", f.Since, f.Until))
}

// messagesHint names the index of messagesOf.
func (t *tx) messagesHint(f *Filter) string {
	switch {
	case !f.Message.IsZero():
		return ""
	case !f.Batch.IsZero():
		return t.indexedBy("messages_batch")
	default:
		return t.indexedBy("messages_ref")
	}
}

// messagesOnly are the conditions that only messages' columns answer.
func (f *Filter) messagesOnly() cond {
	var c cond
	if !f.Message.IsZero() {
		c.and("m.id = ?", f.Message)
	}
	if !f.Batch.IsZero() {
		c.and("m.batch_id = ? AND m.batch_id IS NOT NULL", f.Batch)
	}
	if f.RefID != "" {
		c.and("m.app_id = ? AND m.ref_scope = ? AND m.ref_id = ? AND m.ref_id <> ''", f.App, f.RefScope, f.RefID)
	}
	return c
}

// deliveriesWhere is the rest of the filter, on the deliveries found.
func (t *tx) deliveriesWhere(f *Filter) cond {
	var c cond
	if len(f.Statuses) > 0 {
		list, args := in(nil, f.Statuses)
		c.and("d.status IN "+list, texts(args)...)
	}
	if !f.Profile.IsZero() {
		c.and("d.profile_id = ?", f.Profile)
	}
	if f.Lane != "" {
		c.and("d.lane = ?", string(f.Lane))
	}
	if f.Recipient != "" {
		c.and("d.address_folded = ?", f.Recipient)
	}
	return c.with(t.addressSearch(f))
}
