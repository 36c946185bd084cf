package ledger

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/postledger/postledger"
)

// Loaded is what is needed to build a message's bytes.
type Loaded struct {
	postledger.Message
	Content postledger.Content
	// ContentMissing is set when retention has purged the content.
	ContentMissing bool
	// ContentDeferred is set when the content is larger than what was asked
	// for and has not been loaded.
	ContentDeferred bool
	// Visible are the recipients its To and Cc headers show, in order; it is
	// filled for messages with several recipients only.
	Visible []VisibleRecipient
}

// VisibleRecipient is one entry of a To or Cc header.
type VisibleRecipient struct {
	Kind    postledger.RecipientKind
	Name    string
	Address string
}

// messageColumns are a message's row. When it was settled stands with its
// deliveries (settled.go).
const messageColumns = `m.id, m.app_id, m.api_key_id, m.request_id, m.profile_id, m.profile_name, m.tenant, m.locale, m.lane,
	m.batch_id, m.ref_scope, m.ref_id, m.category, m.subject, m.header_message_id, m.size_bytes, m.recipients,
	m.actor_type, m.actor_id, m.actor_name, m.send_at, m.expires_at, m.created_at, m.content_purged_at, m.resend_of`

// messageDest is where messageColumns scan to.
func messageDest(m *postledger.Message) []any {
	return []any{
		idColumn{&m.ID},
		idColumn{&m.AppID},
		idColumn{&m.APIKeyID},
		&m.RequestID,
		idColumn{&m.ProfileID},
		&m.ProfileName, &m.Tenant, &m.Locale, &m.Lane,
		idColumn{&m.BatchID},
		&m.RefScope, &m.RefID, &m.Category, &m.Subject, &m.HeaderMessageID, &m.SizeBytes, &m.Recipients,
		&m.Actor.Type, &m.Actor.ID, &m.Actor.Name,
		timeColumn{&m.SendAt},
		timeColumn{&m.ExpiresAt},
		timeColumn{&m.CreatedAt},
		timeColumn{&m.ContentPurgedAt},
		idColumn{&m.ResendOf},
	}
}

// selected are columns of a message's row, and where they scan to.
type selected struct {
	columns string
	dest    func(*postledger.Message) []any
}

// sentColumns are what a message's bytes are made of: most of its row is for
// people.
const sentColumns = `m.id, m.subject, m.header_message_id, m.size_bytes, m.recipients, m.send_at, m.created_at`

func sentDest(m *postledger.Message) []any {
	return []any{
		idColumn{&m.ID},
		textColumn[string]{&m.Subject},
		textColumn[string]{&m.HeaderMessageID},
		intColumn[int64]{&m.SizeBytes},
		intColumn[int]{&m.Recipients},
		timeColumn{&m.SendAt},
		timeColumn{&m.CreatedAt},
	}
}

// LoadMessages reads messages by primary key, in one query a table for all of
// them, with the content of those that are at most maxContent bytes large.
func (l *Ledger) LoadMessages(ctx context.Context, ids []postledger.ID, maxContent int64) (map[postledger.ID]*Loaded, error) {
	return l.load(ctx, ids, maxContent, selected{messageColumns, messageDest})
}

// LoadToSend is LoadMessages for a worker: of the message's own row it reads the
// id, the subject, the Message-ID, the size, how many recipients there are, and
// when it was created and is to be sent.
func (l *Ledger) LoadToSend(ctx context.Context, ids []postledger.ID, maxContent int64) (map[postledger.ID]*Loaded, error) {
	return l.load(ctx, ids, maxContent, selected{sentColumns, sentDest})
}

func (l *Ledger) load(ctx context.Context, ids []postledger.ID, maxContent int64, what selected) (map[postledger.ID]*Loaded, error) {
	out := make(map[postledger.ID]*Loaded, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	t := l.read()
	where, args := t.anyOfUncounted("m.id", ids)
	args = append([]any{maxContent}, args...)
	var several []postledger.ID
	var inPieces []*Loaded
	shared := map[postledger.ID][]*Loaded{}
	bodies, large := l.bodyColumns(maxContent)
	err := l.rows(ctx, func(r row) error {
		m := new(Loaded)
		var c contentColumns
		var text pgtype.Text
		if err := r.Scan(append(what.dest(&m.Message), &text, textColumn[string]{&c.html}, textColumn[string]{&c.headers},
			textColumn[string]{&c.fromName}, textColumn[string]{&c.replyTo}, textColumn[string]{&c.attachments}, idColumn{&c.shared})...); err != nil {
			return err
		}
		m.ContentDeferred = m.SizeBytes > maxContent
		m.ContentMissing = !text.Valid && !m.ContentDeferred
		c.text = text.String
		var err error
		if m.Content, err = c.decode(); err != nil {
			return fmt.Errorf("message %s: %w", m.ID, err)
		}
		if m.Recipients > 1 {
			several = append(several, m.ID)
		}
		out[m.ID] = m
		switch {
		case !c.shared.IsZero():
			shared[c.shared] = append(shared[c.shared], m)
		case large && !m.ContentDeferred && !m.ContentMissing:
			inPieces = append(inPieces, m)
		}
		return nil
	}, `SELECT `+what.columns+`, `+bodies+`, c.headers, c.from_name, c.reply_to, c.attachments, c.shared_id
		FROM messages m LEFT JOIN contents c ON c.message_id = m.id AND m.size_bytes <= ? WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("load messages: %w", err)
	}
	for _, m := range inPieces {
		text, html, found, err := l.loadBodies(ctx, ownBodies, m.ID)
		if err != nil {
			return nil, err
		}
		m.Content.Text, m.Content.HTML, m.ContentMissing = text, html, !found
	}
	if err := l.loadShared(ctx, shared, large); err != nil {
		return nil, err
	}
	if len(several) == 0 {
		return out, nil
	}
	where, args = t.anyOfUncounted("message_id", several)
	err = l.rows(ctx, func(r row) error {
		var id postledger.ID
		var v VisibleRecipient
		if err := r.Scan(idColumn{&id}, &v.Kind, &v.Name, &v.Address); err != nil {
			return err
		}
		out[id].Visible = append(out[id].Visible, v)
		return nil
	}, `SELECT message_id, kind, display_name, address FROM deliveries WHERE `+where+` AND kind <> 'bcc' ORDER BY message_id, position`, args...)
	if err != nil {
		return nil, fmt.Errorf("load recipients: %w", err)
	}
	return out, nil
}

// anyOf is "column is one of ids" in the dialect's cheapest form.
func (t *tx) anyOf(column string, ids []postledger.ID) (string, []any) {
	if t.dialect == postgres {
		return column + " = ANY(?)", []any{uuids(ids)}
	}
	list, args := in(nil, ids)
	return column + " IN " + list, args
}

// anyOfUncounted is anyOf for a statement that runs with each lease: PostgreSQL's
// planner cannot count an array in a subquery, and keeps its plan instead of
// making one for each size.
func (t *tx) anyOfUncounted(column string, ids []postledger.ID) (string, []any) {
	if t.dialect == postgres {
		return column + " = ANY((SELECT ?::uuid[])::uuid[])", []any{uuids(ids)}
	}
	return t.anyOf(column, ids)
}
