package ledger

import (
	"context"
	"database/sql"

	"github.com/postledger/postledger"
)

// leasePostgres claims all wants with one statement. Single-recipient
// envelopes (id = envelope_id) are leased by it; the others are only locked,
// and leased by completeEnvelopes once all their members are.
//
// The first array stands in a subquery so that the planner cannot count it: a
// plan for one want would look cheaper to it than the prepared one, which is
// made for ten, and it would plan every claim anew for a third of its cost.
func leasePostgres(ctx context.Context, t *tx, worker postledger.ID, last Counts, wants []Want, out []Claimed) (beats int64, err error) {
	n := len(wants)
	profiles, apps, ids := make([][16]byte, n), make([][16]byte, n), make([][16]byte, n)
	lanes, dues, limits := make([]string, n), make([]int64, n), make([]int32, n)
	for i, w := range wants {
		profiles[i], apps[i], lanes[i] = w.Key.Profile, w.Key.App, string(w.Key.Lane)
		dues[i], ids[i], limits[i] = w.After.Due, w.After.ID, int32(w.N)
	}
	taken := make([]int, n)
	met := 0
	var shared []envelopeRef
	scan := func(r row) error {
		var ord int
		var cur Cursor
		var message, envelope postledger.ID
		// The columns of d are NULL for a member of a shared envelope.
		d := Leased{Delivery: postledger.Delivery{Status: postledger.StatusSending}}
		if err := r.Scan(append([]any{
			&ord, intColumn[int64]{&beats}, &cur.Due, idColumn{&cur.ID}, idColumn{&envelope}, idColumn{&message},
		}, leasedDest(&d)...)...); err != nil {
			return err
		}
		met++
		taken[ord]++
		if cur.after(out[ord].After) {
			out[ord].After = cur
		}
		if d.ID.IsZero() {
			shared = append(shared, envelopeRef{ord, envelope, message})
		} else {
			out[ord].Leased = append(out[ord].Leased, d)
		}
		return nil
	}
	t.queueRead("claim", scan, `WITH want AS (
			SELECT w.* FROM unnest((SELECT $2::uuid[]), $3::text[], $4::uuid[], $5::bigint[], $6::uuid[], $7::int[])
				WITH ORDINALITY AS w(profile_id, lane, app_id, after_due, after_id, n, ord)
			WHERE EXISTS (SELECT 1 FROM ledger_state s WHERE s.one = 1 AND s.state = 'open')
				AND EXISTS (SELECT 1 FROM workers v LEFT JOIN worker_settles s ON s.worker_id = v.id
					WHERE v.id = $1 AND v.ended_at IS NULL AND v.beat >= $8 AND coalesce(s.settles, 0) >= $9)),
		c AS MATERIALIZED (
			SELECT x.*, w.ord FROM want w CROSS JOIN LATERAL (
				SELECT d.id, d.envelope_id, d.message_id, d.due_at FROM deliveries d
				WHERE d.profile_id = w.profile_id AND d.lane = w.lane AND d.app_id = w.app_id
					AND d.due_at IS NOT NULL AND d.due_at <= now_us() AND (d.due_at, d.id) > (w.after_due, w.after_id)
				ORDER BY d.due_at, d.id LIMIT w.n FOR UPDATE SKIP LOCKED) x),
		d AS (
			UPDATE deliveries t SET status = 'sending', due_at = NULL, fence = t.fence + 1,
				lease_worker = $1, leased_at = now_us()
			FROM c WHERE t.id = c.id AND c.envelope_id = c.id
			RETURNING t.*),
		b AS (
			UPDATE workers t SET beat = t.beat + 1, beat_at = now_us()
			WHERE t.id = $1 AND t.ended_at IS NULL AND t.beat >= $8 AND EXISTS (SELECT 1 FROM c)
			RETURNING t.beat)
		SELECT c.ord - 1, (SELECT b.beat FROM b), c.due_at, c.id, c.envelope_id, c.message_id, `+leasedColumns+`
		FROM c LEFT JOIN d ON d.id = c.id ORDER BY c.ord, c.due_at, c.id`,
		[16]byte(worker), profiles, lanes, apps, dues, ids, limits, last.Beats, last.Settles)
	if err := t.flush(ctx); err != nil {
		return 0, err
	}
	if met > 0 && beats == 0 {
		return 0, ErrWorkerUnknown // it was ended between the two looks at it
	}
	for i := range out {
		out[i].Short = taken[i] < wants[i].N
	}
	return beats, completeEnvelopes(ctx, t, worker, shared, out)
}

// envelopeRef is an envelope with several recipients that a claim met.
type envelopeRef struct {
	ord               int
	envelope, message postledger.ID
}

// after reports whether c lies behind o in the due order.
func (c Cursor) after(o Cursor) bool {
	return c.Due > o.Due || (c.Due == o.Due && compareIDs(c.ID, o.ID) > 0)
}

// completeEnvelopes leases whole envelopes of several recipients. A member
// that another transaction holds (a cancel, or another process's claim that
// met the envelope's other half) leaves the envelope for the next claim:
// waiting for it could make two claims wait for each other.
func completeEnvelopes(ctx context.Context, t *tx, worker postledger.ID, refs []envelopeRef, out []Claimed) error {
	if len(refs) == 0 {
		return nil
	}
	ord := map[postledger.ID]int{}
	var envelopes, messages []postledger.ID
	for _, r := range refs {
		if _, ok := ord[r.envelope]; !ok {
			ord[r.envelope] = r.ord
			envelopes, messages = append(envelopes, r.envelope), append(messages, r.message)
		}
	}
	const members = `FROM deliveries d WHERE d.message_id = ANY($1) AND d.envelope_id = ANY($2) AND d.status = 'queued'`
	held := map[postledger.ID][]postledger.ID{}
	if err := t.each(ctx, func(rows *sql.Rows) error {
		var id, envelope postledger.ID
		err := rows.Scan(&id, &envelope)
		held[envelope] = append(held[envelope], id)
		return err
	}, `SELECT d.id, d.envelope_id `+members+` ORDER BY d.id FOR UPDATE SKIP LOCKED`, messages, envelopes); err != nil {
		return err
	}
	if err := t.each(ctx, func(rows *sql.Rows) error {
		var envelope postledger.ID
		var n int
		err := rows.Scan(&envelope, &n)
		if n != len(held[envelope]) {
			delete(held, envelope)
		}
		return err
	}, `SELECT d.envelope_id, count(*) `+members+` GROUP BY d.envelope_id`, messages, envelopes); err != nil {
		return err
	}
	var ids []postledger.ID
	for _, m := range held {
		ids = append(ids, m...)
	}
	return t.each(ctx, func(rows *sql.Rows) error {
		d, err := scanLeased(rows)
		o := ord[d.EnvelopeID]
		out[o].Leased = append(out[o].Leased, d)
		return err
	}, `WITH d AS (UPDATE deliveries SET status = 'sending', due_at = NULL, fence = fence + 1,
			lease_worker = $1, leased_at = now_us() WHERE id = ANY($2) RETURNING *)
		SELECT `+leasedColumns+` FROM d ORDER BY d.envelope_id, d.position`, worker, ids)
}
