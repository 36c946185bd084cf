package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postledger/postledger"
)

// xactFate finds out what became of a transaction whose COMMIT got no answer:
// the server knows by its id (pg_xact_status), asked on another connection.
func (l *Ledger) xactFate(xid uint64, cause error) error {
	if xid == 0 {
		return nil // nothing was written: the answers are right whatever happened
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
	defer cancel()
	for {
		var status *string
		err := l.read().row(ctx, []any{&status}, `SELECT pg_xact_status(CAST(? AS text)::xid8)`, fmt.Sprint(xid))
		switch {
		case err == nil && status != nil && *status == "committed":
			return nil
		case err == nil && status != nil && *status == "aborted":
			return fmt.Errorf("commit was undone: %w", cause)
		}
		// Still in progress, or the server does not answer yet: a second look
		// is cheap and 503 with an unknown fate is dear for the caller.
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrFateUnknown, cause)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// insertPostgres queues the rows of all requests, one statement a table.
func insertPostgres(t *tx, live []*answer, now int64) error {
	insertKeysPostgres(t, live, now)
	var m messageArrays
	var d deliveryArrays
	var a auditArrays
	for _, ans := range live {
		for _, i := range ans.fresh {
			nm := &ans.req.Messages[i]
			if err := m.add(ans.req, nm, now); err != nil {
				return err
			}
			for j := range nm.Deliveries {
				d.add(&nm.Deliveries[j], now)
			}
		}
		a.add(ans.req, now)
	}
	m.insert(t)
	d.insert(t)
	a.insert(t)
	return nil
}

// insertKeysPostgres inserts the keys sorted, so that two processes with the
// same keys wait for each other in one direction only. A key that another
// process committed meanwhile is a race: the caller looks again.
func insertKeysPostgres(t *tx, live []*answer, now int64) {
	type row struct {
		app             postledger.ID
		key, print      string
		message, batch_ postledger.ID
	}
	var rows []row
	for _, a := range live {
		for _, i := range a.fresh {
			if m := &a.req.Messages[i]; m.Key != "" {
				rows = append(rows, row{a.req.AppID, m.Key, m.Fingerprint, m.Message.ID, m.Message.BatchID})
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	slices.SortFunc(rows, func(x, y row) int {
		if c := compareIDs(x.app, y.app); c != 0 {
			return c
		}
		return strings.Compare(x.key, y.key)
	})
	var apps, messages, batches []postledger.ID
	var keys, prints []string
	for _, r := range rows {
		apps, keys, prints = append(apps, r.app), append(keys, r.key), append(prints, r.print)
		messages, batches = append(messages, r.message), append(batches, r.batch_)
	}
	t.queue("insert idempotency keys", func(n int64) error {
		if n != int64(len(rows)) {
			return errKeyRace
		}
		return nil
	}, `INSERT INTO idempotency_keys (app_id, key, fingerprint, message_id, batch_id, created_at)
		SELECT u.*, $6::bigint FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::uuid[]) AS u
		ON CONFLICT (app_id, key) DO NOTHING`, apps, keys, prints, messages, batches, now)
}

// jsonText stores a list as JSON, and an empty one as "".
func jsonText[T any](v []T) (string, error) {
	if len(v) == 0 {
		return "", nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// messageArrays holds one slice a column of messages and message_contents.
type messageArrays struct {
	id, app, apiKey, profile, batch, resendOf                         []postledger.ID
	requestID, profileName, tenant, locale, lane, refScope, refID     []string
	category, subject, headerMessageID, actorType, actorID, actorName []string
	size, created                                                     []int64
	recipients                                                        []int32
	sendAt, expiresAt                                                 []*int64
	text, html, headers, fromName, replyTo, attachments               []string
}

func microsPtr(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	us := t.UnixMicro()
	return &us
}

func (c *messageArrays) add(r *AcceptRequest, n *NewMessage, now int64) error {
	m := &n.Message
	content, err := encodeContent(&n.Content)
	if err != nil {
		return err
	}
	c.id, c.app, c.apiKey = append(c.id, m.ID), append(c.app, r.AppID), append(c.apiKey, r.APIKeyID)
	c.profile, c.batch, c.resendOf = append(c.profile, r.ProfileID), append(c.batch, m.BatchID), append(c.resendOf, m.ResendOf)
	c.requestID, c.profileName = append(c.requestID, m.RequestID), append(c.profileName, m.ProfileName)
	c.tenant, c.locale, c.lane = append(c.tenant, m.Tenant), append(c.locale, m.Locale), append(c.lane, string(m.Lane))
	c.refScope, c.refID = append(c.refScope, m.RefScope), append(c.refID, m.RefID)
	c.category, c.subject = append(c.category, string(m.Category)), append(c.subject, m.Subject)
	c.headerMessageID = append(c.headerMessageID, m.HeaderMessageID)
	c.actorType, c.actorID, c.actorName = append(c.actorType, m.Actor.Type), append(c.actorID, m.Actor.ID), append(c.actorName, m.Actor.Name)
	c.size, c.created = append(c.size, m.SizeBytes), append(c.created, now)
	c.recipients = append(c.recipients, int32(len(n.Deliveries)))
	c.sendAt, c.expiresAt = append(c.sendAt, microsPtr(m.SendAt)), append(c.expiresAt, microsPtr(m.ExpiresAt))
	c.text, c.html, c.headers = append(c.text, content.text), append(c.html, content.html), append(c.headers, content.headers)
	c.fromName, c.replyTo = append(c.fromName, content.fromName), append(c.replyTo, content.replyTo)
	c.attachments = append(c.attachments, content.attachments)
	return nil
}

func (c *messageArrays) insert(t *tx) {
	t.queue("insert messages", nil, `WITH u AS (
			SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[],
				$7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
				$14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[],
				$20::bigint[], $21::bigint[], $22::int[], $23::bigint[], $24::bigint[],
				$25::text[], $26::text[], $27::text[], $28::text[], $29::text[], $30::text[])
			AS u(id, app_id, api_key_id, profile_id, batch_id, resend_of,
				request_id, profile_name, tenant, locale, lane, ref_scope, ref_id,
				category, subject, header_message_id, actor_type, actor_id, actor_name,
				size_bytes, created_at, recipients, send_at, expires_at,
				headers, from_name, reply_to, attachments, text_body, html_body)),
		m AS (
			INSERT INTO messages (id, app_id, api_key_id, profile_id, batch_id, resend_of,
				request_id, profile_name, tenant, locale, lane, ref_scope, ref_id,
				category, subject, header_message_id, actor_type, actor_id, actor_name,
				size_bytes, created_at, recipients, unsettled, send_at, expires_at)
			SELECT id, app_id, api_key_id, profile_id, batch_id, resend_of,
				request_id, profile_name, tenant, locale, lane, ref_scope, ref_id,
				category, subject, header_message_id, actor_type, actor_id, actor_name,
				size_bytes, created_at, recipients, recipients, send_at, expires_at FROM u)
		INSERT INTO message_contents (message_id, text_body, html_body, headers, from_name, reply_to, attachments)
		SELECT id, text_body, html_body, headers, from_name, reply_to, attachments FROM u`,
		c.id, c.app, c.apiKey, c.profile, c.batch, c.resendOf,
		c.requestID, c.profileName, c.tenant, c.locale, c.lane, c.refScope, c.refID,
		c.category, c.subject, c.headerMessageID, c.actorType, c.actorID, c.actorName,
		c.size, c.created, c.recipients, c.sendAt, c.expiresAt,
		// The bodies last: the driver's buffer is moved when anything is put
		// behind a large value.
		c.headers, c.fromName, c.replyTo, c.attachments, c.text, c.html)
}

// deliveryArrays holds one slice a column of deliveries.
type deliveryArrays struct {
	id, message, envelope, app, profile             []postledger.ID
	created, due                                    []int64
	expires                                         []*int64
	position                                        []int32
	kind, lane, address, folded, name, recipientKey []string
}

func (c *deliveryArrays) add(d *postledger.Delivery, now int64) {
	c.id, c.message, c.envelope = append(c.id, d.ID), append(c.message, d.MessageID), append(c.envelope, d.EnvelopeID)
	c.app, c.profile = append(c.app, d.AppID), append(c.profile, d.ProfileID)
	c.created, c.due = append(c.created, now), append(c.due, max(now, micros(d.DueAt)))
	c.expires, c.position = append(c.expires, microsPtr(d.ExpiresAt)), append(c.position, int32(d.Position))
	c.kind, c.lane = append(c.kind, string(d.Kind)), append(c.lane, string(d.Lane))
	c.address, c.folded = append(c.address, d.Address), append(c.folded, d.AddressFolded)
	c.name, c.recipientKey = append(c.name, d.DisplayName), append(c.recipientKey, d.RecipientKey)
}

func (c *deliveryArrays) insert(t *tx) {
	t.queue("insert deliveries", nil, `INSERT INTO deliveries (id, message_id, envelope_id, app_id, profile_id,
			created_at, due_at, expires_at, position, kind, lane, address, address_folded, display_name, recipient_key, status)
		SELECT u.*, 'queued' FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[],
			$6::bigint[], $7::bigint[], $8::bigint[], $9::int[],
			$10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[]) AS u`,
		c.id, c.message, c.envelope, c.app, c.profile, c.created, c.due, c.expires, c.position,
		c.kind, c.lane, c.address, c.folded, c.name, c.recipientKey)
}

// auditArrays holds one slice a column of audit_events.
type auditArrays struct {
	id, app, apiKey                                                             []postledger.ID
	at                                                                          []int64
	requestID, actorType, actorID, action, targetType, targetID, result, detail []string
}

func (c *auditArrays) add(r *AcceptRequest, now int64) {
	e := &r.Audit
	c.id, c.app, c.apiKey = append(c.id, e.ID), append(c.app, e.AppID), append(c.apiKey, e.APIKeyID)
	c.at = append(c.at, now)
	c.requestID, c.actorType, c.actorID = append(c.requestID, e.RequestID), append(c.actorType, e.ActorType), append(c.actorID, e.ActorID)
	c.action, c.targetType, c.targetID = append(c.action, e.Action), append(c.targetType, e.TargetType), append(c.targetID, e.TargetID)
	c.result, c.detail = append(c.result, e.Result), append(c.detail, e.Detail)
}

func (c *auditArrays) insert(t *tx) {
	t.queue("insert audit", nil, `INSERT INTO audit_events (id, app_id, api_key_id, at, request_id, actor_type, actor_id,
			action, target_type, target_id, result, detail)
		SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::text[],
			$8::text[], $9::text[], $10::text[], $11::text[], $12::text[])`,
		c.id, c.app, c.apiKey, c.at, c.requestID, c.actorType, c.actorID,
		c.action, c.targetType, c.targetID, c.result, c.detail)
}
