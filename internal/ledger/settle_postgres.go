package ledger

import (
	"github.com/postledger/postledger"
)

// writeChangesPostgres queues all changes, with one statement a table, the counters last: their rows are shared by every settle of the hour.
func writeChangesPostgres(t *tx, changes []change, now int64) {
	updateDeliveriesPostgres(t, changes)
	if ids, ns := reopened(changes); len(ids) > 0 {
		t.queue("open messages", nil, `UPDATE messages m SET unsettled = m.unsettled + u.n, settled_at = NULL
			FROM unnest($1::uuid[], $2::int[]) AS u(id, n) WHERE m.id = u.id`, ids, ns)
	}
	insertEventsPostgres(t, changes, now)
	countSettledPostgres(t, changes, now)
}

func countSettledPostgres(t *tx, changes []change, now int64) {
	keys, sums := statDeltas(changes)
	if len(keys) == 0 {
		return
	}
	var apps, profiles []postledger.ID
	var lanes, statuses, reasons []string
	var ns []int64
	for _, k := range keys {
		apps, profiles, lanes = append(apps, k.app), append(profiles, k.profile), append(lanes, string(k.lane))
		statuses, reasons, ns = append(statuses, string(k.status)), append(reasons, string(k.reason)), append(ns, sums[k])
	}
	t.queue("count settled", nil, `INSERT INTO stats_hours (hour, app_id, profile_id, lane, status, reason, n)
		SELECT $1::bigint, u.* FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bigint[]) AS u
		ON CONFLICT (hour, app_id, profile_id, lane, status, reason) DO UPDATE SET n = stats_hours.n + excluded.n`,
		now/microsPerHour, apps, profiles, lanes, statuses, reasons, ns)
}

func updateDeliveriesPostgres(t *tx, changes []change) {
	n := len(changes)
	ids, envelopes := make([]postledger.ID, n), make([]postledger.ID, n)
	statuses, reasons := make([]string, n), make([]string, n)
	responses, providerIDs := make([]string, n), make([]string, n)
	dues, firsts, sents, settleds, resolves := make([]*int64, n), make([]*int64, n), make([]*int64, n), make([]*int64, n), make([]*int64, n)
	attempts, uncharged := make([]int32, n), make([]int32, n)
	resent := make([]bool, n)
	for i := range changes {
		c := &changes[i]
		ids[i], envelopes[i], statuses[i], reasons[i] = c.row.id, c.envelope, string(c.to), string(c.reason)
		responses[i], providerIDs[i] = c.response, c.providerID
		dues[i], firsts[i], sents[i], settleds[i], resolves[i] = c.due, c.firstCharged, c.sent, c.settledAt, c.resolveBy
		attempts[i], uncharged[i], resent[i] = int32(c.attempts), int32(c.uncharged), c.resent
	}
	// The rows are locked and were read in this transaction: the id is guard enough.
	t.queue("update deliveries", nil, `UPDATE deliveries d SET status = u.status, reason = u.reason, envelope_id = u.envelope_id,
			due_at = u.due_at, first_charged_at = u.first_charged_at, sent_at = u.sent_at, settled_at = u.settled_at,
			resolve_by = u.resolve_by, attempts = u.attempts, uncharged = u.uncharged, resent = u.resent,
			response = u.response, provider_id = u.provider_id, lease_worker = NULL
		FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],
			$7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::int[], $13::int[], $14::bool[])
			AS u(id, envelope_id, status, reason, response, provider_id,
				due_at, first_charged_at, sent_at, settled_at, resolve_by, attempts, uncharged, resent)
		WHERE d.id = u.id`,
		ids, envelopes, statuses, reasons, responses, providerIDs,
		dues, firsts, sents, settleds, resolves, attempts, uncharged, resent)
}

func insertEventsPostgres(t *tx, changes []change, now int64) {
	var ids, deliveries []postledger.ID
	var kinds, froms, tos, reasons, phases, enhanced, responses, actors []string
	var fences []int64
	var attempts, codes []int32
	for i := range changes {
		c := &changes[i]
		if c.event == nil {
			continue
		}
		ids, deliveries, kinds = append(ids, c.eventID), append(deliveries, c.row.id), append(kinds, c.event.Kind)
		froms, tos, reasons = append(froms, string(c.row.status)), append(tos, string(c.to)), append(reasons, string(c.reason))
		fences, attempts = append(fences, c.row.fence), append(attempts, int32(c.attempts))
		phases, codes, enhanced = append(phases, c.event.phaseText()), append(codes, int32(c.event.Code)), append(enhanced, c.event.Enhanced.String())
		responses, actors = append(responses, c.response), append(actors, c.event.Actor)
	}
	if len(ids) == 0 {
		return
	}
	t.queue("insert events", nil, `INSERT INTO delivery_events (id, delivery_id, kind, from_status, to_status, reason, fence, attempt, phase, code, enhanced, response, actor, at)
		SELECT u.*, $14::bigint FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],
			$7::bigint[], $8::int[], $9::text[], $10::int[], $11::text[], $12::text[], $13::text[]) AS u`,
		ids, deliveries, kinds, froms, tos, reasons, fences, attempts, phases, codes, enhanced, responses, actors, now)
}

func (e *Event) phaseText() string {
	if e.Phase == postledger.PhaseNone {
		return ""
	}
	return e.Phase.String()
}
