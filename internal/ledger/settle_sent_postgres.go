package ledger

import (
	"context"
	"slices"
	"sync"

	"github.com/postledger/postledger"
)

// Nearly all settlements say "sent", without history: the row goes from
// sending to sent or the guard refuses it, and nothing must be known before.
// PostgreSQL writes them with one guarded statement, in one round trip with
// BEGIN and COMMIT. planChange says the same for every other settlement, and
// for those that this statement's guard refuses.

// isPlainSent reports whether s can be written so.
func isPlainSent(s *Settlement) bool {
	return s.To == postledger.StatusSent && s.Fence != AnyFence && s.Owner.IsZero() && s.Event == nil &&
		postledger.CanMove(postledger.StatusSending, s.To, s.Mover)
}

// settleSentPostgres writes the plain ones among ss in a transaction of their
// own, fills in their answers, and returns the places of all others in ss.
func (l *Ledger) settleSentPostgres(ctx context.Context, worker postledger.ID, last Counts, ss []Settlement, out []Settled) (rest []int, settles int64, err error) {
	place := make(map[postledger.ID]int, len(ss))
	var plain []*Settlement
	for i := range ss {
		if s := &ss[i]; isPlainSent(s) {
			place[s.ID] = i
			plain = append(plain, s)
		} else {
			rest = append(rest, i)
		}
	}
	if len(plain) == 0 {
		return rest, 0, nil
	}
	slices.SortFunc(plain, func(a, b *Settlement) int { return compareIDs(a.ID, b.ID) })
	err = l.write(ctx, func(ctx context.Context, t *tx) error {
		clear(out)
		settles = 0
		var rows []JobRow
		var of []postledger.ID
		listening, known := l.listening(), true
		if listening {
			rows, of, known = l.sentJobs(plain)
		}
		queueSent(t, plain, rows, of, func(id postledger.ID, s Settled) { out[place[id]] = s })
		if listening && !known {
			if err := l.announceSent(ctx, t, plain, func(id postledger.ID) Settled { return out[place[id]] }); err != nil {
				return err
			}
		}
		if !worker.IsZero() {
			t.queueSettled(worker, last, &settles)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	for _, s := range plain {
		if i := place[s.ID]; !out[i].Applied {
			rest = append(rest, i)
		}
	}
	slices.Sort(rest)
	return rest, settles, nil
}

// settleSent is the statement. Its parts run in the lock order, deliveries by id,
// then counters: these wait for what they sum up. The arrays stand in subqueries so
// that the planner cannot count them and does not plan anew for each size.
const settleSent = `WITH now AS MATERIALIZED (SELECT now_us() AS us),
		d AS (
			UPDATE deliveries t SET status = 'sent', reason = u.reason, sent_at = now.us, settled_at = now.us, lease_worker = NULL,
				attempts = t.attempts + CASE u.kind WHEN 1 THEN 1 ELSE 0 END,
				uncharged = CASE u.kind WHEN 1 THEN 0 WHEN 2 THEN t.uncharged + 1 ELSE t.uncharged END,
				first_charged_at = CASE u.kind WHEN 1 THEN coalesce(t.first_charged_at, now.us) ELSE t.first_charged_at END,
				response = CASE u.response WHEN '' THEN t.response ELSE u.response END,
				provider_id = CASE u.provider_id WHEN '' THEN t.provider_id ELSE u.provider_id END
			FROM now, unnest((SELECT $1::uuid[]), (SELECT $2::bigint[]), (SELECT $3::smallint[]), (SELECT $4::text[]),
				(SELECT $5::text[]), (SELECT $6::text[])) AS u(id, fence, kind, reason, response, provider_id)
			WHERE t.id = u.id AND t.fence = u.fence AND t.status = 'sending'
			RETURNING t.id, t.message_id, t.app_id, t.profile_id, t.lane, t.reason, t.created_at, t.settled_at),
		c AS (
			INSERT INTO stats_hours (hour, app_id, profile_id, lane, status, reason, n)
			SELECT now.us / $7::bigint, d.app_id, d.profile_id, d.lane, 'sent', d.reason, count(*) FROM d, now
			GROUP BY now.us, d.app_id, d.profile_id, d.lane, d.reason
			ORDER BY d.app_id, d.profile_id, d.lane, d.reason
			ON CONFLICT (hour, app_id, profile_id, lane, status, reason) DO UPDATE SET n = stats_hours.n + excluded.n)`

// settleSentAnswer ends it. settleSentTold writes jobs besides, of those deliveries
// that it settles and of no other, and counts them: each is written, unless its id was
// there.
const (
	settleSentAnswer = `
		SELECT d.id, d.message_id, d.app_id, d.profile_id, d.lane, d.reason, d.created_at, d.settled_at, 0 FROM d`
	settleSentTold = `,
		j AS (
			` + insertJob + `
			SELECT u.id, 1, ` + jobState + `, u.lane, u.grp, u.handler, NULL, 0, 0, 1, u.payload,
				u.run_at, u.tries, u.timeout_us, 0, now.us, 0, '', u.epoch, c.now
			FROM unnest((SELECT $8::uuid[]), (SELECT $9::smallint[]), (SELECT $10::text[]), (SELECT $11::text[]), (SELECT $12::bytea[]),
					(SELECT $13::bigint[]), (SELECT $14::int[]), (SELECT $15::bigint[]), (SELECT $16::text[]), (SELECT $17::uuid[]))
					WITH ORDINALITY AS u(id, lane, grp, handler, payload, run_at, tries, timeout_us, epoch, delivery, n)
				JOIN d ON d.id = u.delivery, now, (SELECT ` + jobNow + ` AS now) AS c
			ORDER BY u.n ON CONFLICT DO NOTHING RETURNING 1)
		SELECT d.id, d.message_id, d.app_id, d.profile_id, d.lane, d.reason, d.created_at, d.settled_at, (SELECT count(*) FROM j) FROM d`
)

// queueSent queues the statement, with the jobs that follow, each from a delivery.
func queueSent(t *tx, plain []*Settlement, told []JobRow, of []postledger.ID, answer func(postledger.ID, Settled)) {
	n := len(plain)
	ids, fences, kinds := make([][16]byte, n), make([]int64, n), make([]int16, n)
	reasons, responses, providerIDs := make([]string, n), make([]string, n), make([]string, n)
	for i, s := range plain {
		ids[i], fences[i], reasons[i] = s.ID, s.Fence, string(s.Reason)
		responses[i], providerIDs[i] = s.Response, s.ProviderID
		switch {
		case s.Charged:
			kinds[i] = 1
		case s.Uncharged:
			kinds[i] = 2
		}
	}
	args := []any{ids, fences, kinds, reasons, responses, providerIDs, microsPerHour}
	text := settleSent + settleSentAnswer
	jobsOf := map[postledger.ID][]int{}
	var counted sync.Once
	if len(told) > 0 {
		t.place(told)
		for i, id := range of {
			jobsOf[id] = append(jobsOf[id], i)
		}
		text = settleSent + settleSentTold
		args = append(append(args, jobColumns(told)...), of)
	}
	scan := func(r row) error {
		var id postledger.ID
		var at int64
		var wrote int
		s := Settled{Applied: true, Status: postledger.StatusSent, From: postledger.StatusSending}
		err := r.Scan(idColumn{&id}, idColumn{&s.MessageID}, idColumn{&s.AppID}, idColumn{&s.ProfileID},
			&s.Lane, &s.Reason, timeColumn{&s.CreatedAt}, &at, &wrote)
		answer(id, s)
		for _, i := range jobsOf[id] {
			t.wrote(&told[i], at)
		}
		counted.Do(func() { t.jobs.n += wrote }) // each row says the same
		return err
	}
	t.queueRead("settle what was sent", scan, text, args...)
}
