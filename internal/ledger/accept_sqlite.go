package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/postledger/postledger"
)

// acceptSQLite writes a group under one savepoint in the writer's next commit.
// There are no other processes, so keys cannot race; a key that two requests
// have is in one group once, and the second sees the first's.
func (l *Ledger) acceptSQLite(ctx context.Context, answers []*answer) error {
	return l.writer.do(ctx, func(ctx context.Context, t *tx) error {
		return acceptGroup(ctx, t, answers, nil)
	})
}

// commitFateSQLite looks for the first new message by its id: a COMMIT that
// failed may still have reached the file. That it is not seen now is no proof
// (see sqliteTx.seal). A request that wrote nothing itself is not answered: the
// message that it would replay may be gone with the commit.
func (l *Ledger) commitFateSQLite(a *answer, cause error) error {
	if len(a.fresh) == 0 || a.err != nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
	defer cancel()
	var n int
	err := l.read().row(ctx, []any{&n}, `SELECT count(*) FROM messages WHERE id = ?`, a.req.Messages[a.fresh[0]].Message.ID)
	if err == nil && n == 1 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrFateUnknown, errors.Join(cause, err))
}

func insertSQLite(ctx context.Context, t *tx, live []*answer, now int64) error {
	for _, a := range live {
		contents, shared, err := encodeContents(a)
		if err != nil {
			return err
		}
		for _, s := range shared {
			if _, err := t.exec(ctx, `INSERT INTO shared_bodies (id, text_body, html_body, refs) VALUES (?,?,?,?)`, s.id, s.text, s.html, s.refs); err != nil {
				return fmt.Errorf("insert shared body: %w", err)
			}
		}
		for k, i := range a.fresh {
			if err := insertMessageSQLite(ctx, t, a.req, &a.req.Messages[i], &contents[k], now); err != nil {
				return err
			}
		}
		if err := insertAudit(ctx, t, &a.req.Audit, now); err != nil {
			return err
		}
	}
	return nil
}

func insertMessageSQLite(ctx context.Context, t *tx, r *AcceptRequest, n *NewMessage, content *contentColumns, now int64) error {
	m := &n.Message
	if n.Key != "" {
		if _, err := t.exec(ctx, `INSERT INTO idempotency_keys (app_id, key, fingerprint, message_id, batch_id, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
			r.AppID, n.Key, n.Fingerprint, m.ID, nullID(m.BatchID), now); err != nil {
			return fmt.Errorf("insert idempotency key: %w", err)
		}
	}
	if _, err := t.exec(ctx, `INSERT INTO messages (id, app_id, api_key_id, profile_id, batch_id, resend_of,
			request_id, profile_name, tenant, locale, lane, ref_scope, ref_id,
			category, subject, header_message_id, actor_type, actor_id, actor_name,
			size_bytes, created_at, recipients, unsettled, send_at, expires_at)
		VALUES (?,?,?,?,?,?, ?,?,?,?,?,?,?, ?,?,?,?,?,?, ?,?,?,?,?,?)`,
		m.ID, r.AppID, nullID(r.APIKeyID), r.ProfileID, nullID(m.BatchID), nullID(m.ResendOf),
		m.RequestID, m.ProfileName, m.Tenant, m.Locale, string(m.Lane), m.RefScope, m.RefID,
		string(m.Category), m.Subject, m.HeaderMessageID, m.Actor.Type, m.Actor.ID, m.Actor.Name,
		m.SizeBytes, now, len(n.Deliveries), len(n.Deliveries), nullTime(m.SendAt), nullTime(m.ExpiresAt)); err != nil {
		return fmt.Errorf("insert message: %w", err)
	}
	if _, err := t.exec(ctx, `INSERT INTO contents (message_id, text_body, html_body, headers, from_name, reply_to, attachments, shared_id)
		VALUES (?,?,?,?,?,?,?,?)`,
		m.ID, content.text, content.html, content.headers, content.fromName, content.replyTo, content.attachments, nullID(content.shared)); err != nil {
		return fmt.Errorf("insert content: %w", err)
	}
	for i := range n.Deliveries {
		d := &n.Deliveries[i]
		if _, err := t.exec(ctx, `INSERT INTO deliveries (id, message_id, envelope_id, app_id, profile_id,
				created_at, due_at, expires_at, position, kind, lane, address, address_folded, display_name, recipient_key, status)
			VALUES (?,?,?,?,?, ?,?,?,?,?,?,?,?,?,?, 'queued')`,
			d.ID, d.MessageID, d.EnvelopeID, d.AppID, d.ProfileID,
			now, max(now, micros(d.DueAt)), nullTime(d.ExpiresAt), d.Position, string(d.Kind), string(d.Lane),
			d.Address, d.AddressFolded, d.DisplayName, d.RecipientKey); err != nil {
			return fmt.Errorf("insert delivery: %w", err)
		}
	}
	return nil
}

// insertAudit writes one line of the audit trail.
func insertAudit(ctx context.Context, t *tx, e *postledger.AuditEvent, now int64) error {
	_, err := t.exec(ctx, `INSERT INTO audit_events (id, app_id, api_key_id, at, request_id, actor_type, actor_id,
			action, target_type, target_id, result, detail) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)`,
		e.ID, nullID(e.AppID), nullID(e.APIKeyID), now, e.RequestID, e.ActorType, e.ActorID,
		e.Action, e.TargetType, e.TargetID, e.Result, e.Detail)
	if err != nil {
		return fmt.Errorf("insert audit: %w", err)
	}
	return nil
}
