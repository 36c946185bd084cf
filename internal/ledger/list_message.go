package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/postledger/postledger"
)

// Errors about one message.
var (
	// ErrMessageUnknown: there is no such message, or it is another app's:
	// the answer is the same (invariant 18).
	ErrMessageUnknown = errors.New("no such message")
	// ErrContentPurged: the message's content is not kept any more.
	ErrContentPurged = errors.New("the message's content was purged")
	// errSharedLost: books name it (DiffShared).
	errSharedLost = errors.New("the shared body that the content names is not there")
)

// MessageView is a message with everything that is known about it, but its
// content.
type MessageView struct {
	postledger.Message
	Summary    Summary
	Deliveries []postledger.Delivery
	// Events are the deliveries' histories, each in order of time.
	Events map[postledger.ID][]postledger.Event
}

// maxEvents bounds the history read of one message: 50 recipients with a
// hundred lines each.
const maxEvents = 5000

// MessageByID reads a message as the app may see it; a zero app sees all.
func (l *Ledger) MessageByID(ctx context.Context, app, id postledger.ID) (MessageView, error) {
	var v MessageView
	err := l.listing(ctx, func(ctx context.Context, t *tx) error {
		var err error
		if v.Message, err = t.message(ctx, app, id); err != nil {
			return err
		}
		var ids []postledger.ID
		if err := t.each(ctx, func(rows *sql.Rows) error {
			var d postledger.Delivery
			err := rows.Scan(deliveryDest(&d)...)
			v.Deliveries, ids = append(v.Deliveries, d), append(ids, d.ID)
			return err
		}, `SELECT `+deliveryColumns+` FROM deliveries d WHERE d.message_id = ? ORDER BY d.position LIMIT ?`, id, MaxPage); err != nil {
			return err
		}
		settledWith(&v.Message, v.Deliveries)
		v.Summary = Summarize(v.Deliveries)
		v.Events, err = t.events(ctx, ids)
		return err
	})
	if err != nil {
		return v, fmt.Errorf("read message: %w", err)
	}
	return v, nil
}

func (t *tx) message(ctx context.Context, app, id postledger.ID) (postledger.Message, error) {
	var m postledger.Message
	err := t.row(ctx, messageDest(&m), `SELECT `+messageColumns+` FROM messages m WHERE m.id = ?`, id[:])
	if errors.Is(err, sql.ErrNoRows) || (err == nil && !app.IsZero() && m.AppID != app) {
		return postledger.Message{}, ErrMessageUnknown
	}
	return m, err
}

func (t *tx) events(ctx context.Context, deliveries []postledger.ID) (map[postledger.ID][]postledger.Event, error) {
	out := map[postledger.ID][]postledger.Event{}
	if len(deliveries) == 0 {
		return out, nil
	}
	where, args := t.anyOf("delivery_id", deliveries)
	return out, t.each(ctx, func(rows *sql.Rows) error {
		var e postledger.Event
		err := rows.Scan(&e.ID, &e.DeliveryID, timeColumn{&e.At}, &e.Kind, &e.From, &e.To, &e.Reason, &e.Fence, &e.Attempt,
			&e.Phase, &e.Code, &e.Enhanced, &e.Response, &e.Actor)
		out[e.DeliveryID] = append(out[e.DeliveryID], e)
		return err
	}, `SELECT id, delivery_id, at, kind, from_status, to_status, reason, fence, attempt, phase, code, enhanced, response, actor
		FROM delivery_events WHERE `+where+` ORDER BY delivery_id, id LIMIT ?`, append(args, maxEvents)...)
}

// Summaries reads the states of several messages, without failures: what a
// list shows of each.
func (l *Ledger) Summaries(ctx context.Context, messages []postledger.ID) (map[postledger.ID]Summary, error) {
	out := make(map[postledger.ID]Summary, len(messages))
	if len(messages) == 0 {
		return out, nil
	}
	err := l.listing(ctx, func(ctx context.Context, t *tx) error {
		where, args := t.anyOf("message_id", messages)
		return t.each(ctx, func(rows *sql.Rows) error {
			var id postledger.ID
			var s postledger.Status
			var n int
			err := rows.Scan(&id, &s, &n)
			if out[id].Counts == nil {
				out[id] = Summary{Counts: map[postledger.Status]int{}}
			}
			out[id].Counts[s] = n
			return err
		}, `SELECT message_id, status, count(*) FROM deliveries WHERE `+where+` GROUP BY message_id, status`, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("summarize messages: %w", err)
	}
	for id, s := range out {
		s.Status = MessageStatus(s.Counts)
		out[id] = s
	}
	return out, nil
}

// ReadContent reads a message's content as the app may see it (a zero app sees
// all). The line of the audit trail is committed before anything is returned
// (invariant 14).
func (l *Ledger) ReadContent(ctx context.Context, app, id postledger.ID, audit postledger.AuditEvent) (postledger.Content, error) {
	t := l.read()
	if _, err := t.message(ctx, app, id); err != nil {
		return postledger.Content{}, fmt.Errorf("read content: %w", err)
	}
	if err := l.AppendAudit(ctx, audit); err != nil {
		return postledger.Content{}, err
	}
	var c contentColumns
	var text, html sql.NullString
	err := t.row(ctx, []any{&text, &html, &c.headers, &c.fromName, &c.replyTo, &c.attachments}, `SELECT
			CASE WHEN c.shared_id IS NULL THEN c.text_body ELSE s.text_body END,
			CASE WHEN c.shared_id IS NULL THEN c.html_body ELSE s.html_body END, c.headers, c.from_name, c.reply_to, c.attachments
		FROM contents c LEFT JOIN shared_bodies s ON s.id = c.shared_id WHERE c.message_id = ?`, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrContentPurged
	}
	if err == nil && !text.Valid {
		err = errSharedLost
	}
	if err != nil {
		return postledger.Content{}, fmt.Errorf("read content: %w", err)
	}
	c.text, c.html = text.String, html.String
	return c.decode()
}
