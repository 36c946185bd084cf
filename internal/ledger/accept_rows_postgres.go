package ledger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postledger/postledger"
)

// rowKind numbers the tables whose rows an accept writes.
type rowKind int

const (
	keyRows rowKind = iota
	messageRows
	bodyRows
	contentRows
	deliveryRows
	auditRows
	rowKinds
)

// rowInserts are the statements that take an array of rows, and the rows' types.
func rowInserts() [rowKinds]struct {
	prepared
	element string
} {
	const messages = `id, app_id, api_key_id, profile_id, batch_id, resend_of,
		request_id, profile_name, tenant, locale, lane, ref_scope, ref_id,
		category, subject, header_message_id, actor_type, actor_id, actor_name,
		size_bytes, created_at, recipients, send_at, expires_at`
	const deliveries = `id, message_id, envelope_id, app_id, profile_id, created_at, due_at, expires_at, position,
		kind, lane, address, address_folded, display_name, recipient_key`
	return [rowKinds]struct {
		prepared
		element string
	}{
		keyRows: {prepared{"insert idempotency keys", "accept_keys", `INSERT INTO idempotency_keys
			(app_id, key, fingerprint, message_id, batch_id, created_at) SELECT * FROM unnest($1::accept_key[])`}, "accept_key"},
		messageRows: {prepared{"insert messages", "accept_messages", `INSERT INTO messages (` + messages + `, unsettled)
			SELECT ` + messages + `, recipients FROM unnest($1::accept_message[])`}, "accept_message"},
		bodyRows: {prepared{"insert shared bodies", "accept_bodies", `INSERT INTO shared_bodies
			(id, text_body, html_body, refs) SELECT * FROM unnest($1::accept_shared_body[])`}, "accept_shared_body"},
		contentRows: {prepared{"insert contents", "accept_contents", `INSERT INTO contents
			(message_id, text_body, html_body, headers, from_name, reply_to, attachments, shared_id)
			SELECT * FROM unnest($1::accept_shared_content[])`}, "accept_shared_content"},
		deliveryRows: {prepared{"insert deliveries", "accept_deliveries", `INSERT INTO deliveries (` + deliveries + `, status)
			SELECT ` + deliveries + `, 'queued' FROM unnest($1::accept_delivery[])`}, "accept_delivery"},
		auditRows: {prepared{"insert audit", "accept_audits", `INSERT INTO audit_events (id, app_id, api_key_id, at, request_id, actor_type, actor_id,
			action, target_type, target_id, result, detail) SELECT * FROM unnest($1::accept_audit[])`}, "accept_audit"},
	}
}

// chunk is how large an array grows before it is sent. A backend takes no
// fresh memory for what is this small, and a statement costs little beside it.
const chunk = 64 << 10

// acceptRows writes the rows of groups. Its buffers are kept from group to group
// and hold a chunk and a row; one that a large message has blown up is let go.
type acceptRows struct {
	arrays [rowKinds]rowArray
}

// rowWriter is acceptRows at work on one connection.
type rowWriter struct {
	*acceptRows
	*stream
	inserts  [rowKinds]prepared
	counts   prepared
	charges  prepared
	elements [rowKinds]uint32
}

// elementsKey is where a connection keeps the numbers of the rows' types: they
// are its database's own.
const elementsKey = "postledger.accept"

// ready prepares a connection's statements, once.
func (w *rowWriter) ready(ctx context.Context, c *pgx.Conn) error {
	inserts := rowInserts()
	for i := range inserts {
		w.inserts[i] = inserts[i].prepared
	}
	w.counts = prepared{"count accepted", "accept_count", (&tx{dialect: postgres}).bind(countAccept)}
	w.charges = prepared{"charge quota", "accept_charge", chargeAccept}
	kept := c.PgConn().CustomData()
	if known, ok := kept[elementsKey].([rowKinds]uint32); ok {
		w.elements = known
		return nil
	}
	for i := range inserts {
		if err := c.QueryRow(ctx, `SELECT to_regtype($1)::oid`, inserts[i].element).Scan(&w.elements[i]); err != nil {
			return fmt.Errorf("look up type %s: %w", inserts[i].element, err)
		}
	}
	if err := keepMemory(ctx, c); err != nil {
		return err
	}
	for _, st := range append(w.inserts[:], w.counts, w.charges) {
		if _, err := c.Prepare(ctx, st.name, st.sql); err != nil {
			return fmt.Errorf("prepare to %s: %w", st.what, err)
		}
	}
	kept[elementsKey] = w.elements
	return nil
}

// row begins a row, of width columns.
func (w *rowWriter) row(k rowKind, width int) *rowArray {
	a := &w.arrays[k]
	a.begin(width)
	return a
}

// end ends the row, and sends the array when it is large enough.
func (w *rowWriter) end(k rowKind) {
	a := &w.arrays[k]
	a.end()
	if len(a.buf) >= chunk {
		w.put(k)
	}
}

// put sends what the array holds.
func (w *rowWriter) put(k rowKind) {
	a := &w.arrays[k]
	if a.rows == 0 {
		return
	}
	w.send(w.inserts[k], a.take(w.elements[k]))
	if cap(a.buf) > 4*chunk {
		a.buf = nil
	}
}

// keys are sorted, so that two processes with the same keys wait for each other
// in one direction only. A key that another process committed meanwhile fails
// the statement.
func (w *rowWriter) keys(live []*answer, now int64) {
	type row struct {
		app postledger.ID
		m   *NewMessage
	}
	var rows []row
	for _, a := range live {
		for _, i := range a.fresh {
			if m := &a.req.Messages[i]; m.Key != "" {
				rows = append(rows, row{a.req.AppID, m})
			}
		}
	}
	slices.SortFunc(rows, func(x, y row) int {
		if c := compareIDs(x.app, y.app); c != 0 {
			return c
		}
		return strings.Compare(x.m.Key, y.m.Key)
	})
	for _, r := range rows {
		a := w.row(keyRows, 6)
		a.id(r.app)
		a.text(r.m.Key, r.m.Fingerprint)
		a.id(r.m.Message.ID, r.m.Message.BatchID)
		a.bigint(now)
		w.end(keyRows)
	}
	w.put(keyRows)
}

func (w *rowWriter) message(r *AcceptRequest, n *NewMessage, content *contentColumns, now int64) {
	m := &n.Message
	a := w.row(messageRows, 24)
	a.id(m.ID, r.AppID, r.APIKeyID, r.ProfileID, m.BatchID, m.ResendOf)
	a.text(m.RequestID, m.ProfileName, m.Tenant, m.Locale, string(m.Lane), m.RefScope, m.RefID,
		string(m.Category), m.Subject, m.HeaderMessageID, m.Actor.Type, m.Actor.ID, m.Actor.Name)
	a.bigint(m.SizeBytes, now)
	a.integer(len(n.Deliveries))
	a.moment(m.SendAt, m.ExpiresAt)
	w.end(messageRows)

	a = w.row(contentRows, 8)
	a.id(m.ID)
	a.text(content.text, content.html, content.headers, content.fromName, content.replyTo, content.attachments)
	a.id(content.shared)
	w.end(contentRows)

	for i := range n.Deliveries {
		d := &n.Deliveries[i]
		a = w.row(deliveryRows, 15)
		a.id(d.ID, d.MessageID, d.EnvelopeID, d.AppID, d.ProfileID)
		a.bigint(now, max(now, micros(d.DueAt)))
		a.moment(d.ExpiresAt)
		a.smallint(d.Position)
		a.text(string(d.Kind), string(d.Lane), d.Address, d.AddressFolded, d.DisplayName, d.RecipientKey)
		w.end(deliveryRows)
	}
}

func (w *rowWriter) body(s *sharedBody) {
	a := w.row(bodyRows, 4)
	a.id(s.id)
	a.text(s.text, s.html)
	a.bigint(s.refs)
	w.end(bodyRows)
}

func (w *rowWriter) audit(e *postledger.AuditEvent, now int64) {
	a := w.row(auditRows, 12)
	a.id(e.ID, e.AppID, e.APIKeyID)
	a.bigint(now)
	a.text(e.RequestID, e.ActorType, e.ActorID, e.Action, e.TargetType, e.TargetID, e.Result, e.Detail)
	w.end(auditRows)
}

// acceptTry is one try at a group's transaction.
type acceptTry struct {
	rows *acceptRows
	// xid is the transaction's id, by which its fate is known when its COMMIT
	// gets no answer.
	xid uint64
	// oneByOne charges each quota by itself and looks at what became of it.
	oneByOne bool
}

// writePostgres writes the group's rows. When each quota's sum is of this minute
// the counters, the charges and the COMMIT go with them; else they follow one
// after the other, as their locks must be taken in order.
func writePostgres(ctx context.Context, t *tx, live []*answer, quotas map[quotaKey]quotaRow, now int64, try *acceptTry) error {
	contents, shared := make([][]contentColumns, len(live)), make([][]sharedBody, len(live))
	for i, a := range live {
		var err error
		if contents[i], shared[i], err = encodeContents(a); err != nil {
			return err
		}
	}
	counts, charges := countsOf(live), chargesOf(live)
	minute := now / microsPerMinute
	whole := !try.oneByOne && !slices.ContainsFunc(charges, func(c quotaCharge) bool { return quotas[c.quotaKey].swept < minute })
	w := &rowWriter{acceptRows: try.rows}
	ready := func(c *pgx.Conn) error { return w.ready(ctx, c) }
	err := t.pg.stream(ctx, t, ready, whole, func(s *stream) error {
		w.stream = s
		w.keys(live, now)
		for i, a := range live {
			for j, n := range a.fresh {
				w.message(a.req, &a.req.Messages[n], &contents[i][j], now)
			}
			for j := range shared[i] {
				w.body(&shared[i][j])
			}
			w.audit(&a.req.Audit, now)
		}
		for k := range w.arrays {
			w.put(rowKind(k))
		}
		for _, c := range counts {
			s.send(w.counts, bigintValue(now/microsPerHour), c.app[:], c.profile[:], []byte(c.lane), bigintValue(c.messages), bigintValue(c.deliveries))
		}
		if whole {
			for _, c := range charges {
				s.send(w.charges, bigintValue(c.n), c.app[:], c.profile[:], bigintValue(minute), bigintValue(c.bound()))
			}
		}
		return nil
	})
	switch {
	case refusedBy(err, "23505", "idempotency_keys_pkey"):
		return errKeyRace
	case whole && refusedBy(err, "22012", ""):
		return errChargeRefused
	case err != nil || whole:
		return err
	}
	return chargeQuotas(ctx, t, live, charges, minute)
}

// refusedBy reports whether the server refused a statement by this code, and
// by this constraint.
func refusedBy(err error, code, constraint string) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == code && pe.ConstraintName == constraint
}

func bigintValue(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
