package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/postledger/postledger"
)

// ResolveWithin is how long an unconfirmed delivery may still move and keeps
// its content.
const ResolveWithin = 7 * 24 * time.Hour

// AnyFence is for movers that act on rows nobody holds.
const AnyFence int64 = -1

// Settlement is one move of one delivery, and the guard it is written under:
// the move must be the mover's by the transition table, from the state the row
// has at that moment, under the named fence and owner.
type Settlement struct {
	ID postledger.ID
	// App is whose delivery it is, when the caller knows: it saves a look where
	// somebody is told of it.
	App   postledger.ID
	Mover postledger.Mover
	To    postledger.Status
	// Fence is the lease's; AnyFence for rows that nobody holds.
	Fence int64
	// Owner, when set, must be the worker that holds the lease.
	Owner  postledger.ID
	Reason postledger.Reason

	// Charged counts an attempt; Uncharged counts a return that did not.
	Charged, Uncharged bool
	// Delay is how long a delivery that goes back to queued waits.
	Delay time.Duration
	// Envelope is the new envelope of a delivery that goes back to queued;
	// zero keeps the one it has.
	Envelope postledger.ID
	// OwnEnvelope makes a delivery that goes back to queued leave alone, as a
	// single-recipient envelope.
	OwnEnvelope bool
	Response    string
	ProviderID  string
	// Event, when set, is written to the history.
	Event *Event
}

// Event is what a history line says beyond its settlement.
type Event struct {
	Kind     string
	Phase    postledger.Phase
	Code     int
	Enhanced postledger.EnhancedCode
	Actor    string
}

// Settled says what became of one settlement.
type Settled struct {
	// Applied is false when the guard refused the move.
	Applied bool
	// Status is the delivery's state now; "" when there is no such row.
	Status postledger.Status
	Reason postledger.Reason
	// From is the state it had before.
	From      postledger.Status
	MessageID postledger.ID
	AppID     postledger.ID
	ProfileID postledger.ID
	Lane      postledger.Lane
	CreatedAt time.Time
}

// Settle writes settlements: states, history and counters of each together, in one transaction, or on PostgreSQL in two of
// which each is whole. The answers are in the order of the settlements; one
// that is refused changes nothing (invariant 3). No delivery may stand in it
// twice.
//
// After an error some may have been written. The caller repeats the call: a
// settlement that was committed the first time is then refused by its own
// guard and reported with the state it wrote.
func (l *Ledger) Settle(ctx context.Context, ss []Settlement) ([]Settled, error) {
	out, _, err := l.SettleBy(ctx, postledger.ID{}, Counts{}, ss)
	return out, err
}

// SettleBy is Settle for the worker that holds the leases: its count of settles
// moves with each commit, and is returned. It does not move, and is 0, when the
// ledger does not know the worker (any more) or holds less than last, the highest
// counts that the worker knows were committed: that refuses no answer, and leaves
// the next heartbeat to find that this ledger is older than the world.
func (l *Ledger) SettleBy(ctx context.Context, worker postledger.ID, last Counts, ss []Settlement) ([]Settled, int64, error) {
	out := make([]Settled, len(ss))
	rest := make([]int, 0, len(ss))
	var settles int64
	var err error
	if l.dialect == postgres {
		rest, settles, err = l.settleSentPostgres(ctx, worker, last, ss, out)
	} else {
		for i := range ss {
			rest = append(rest, i)
		}
	}
	if err == nil && len(rest) > 0 {
		var more int64
		more, err = l.settleRest(ctx, worker, last, ss, rest, out)
		settles = max(settles, more)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("settle deliveries: %w", err)
	}
	return out, settles, nil
}

// settleRest settles those of ss that rest names, in one transaction.
func (l *Ledger) settleRest(ctx context.Context, worker postledger.ID, last Counts, ss []Settlement, rest []int, out []Settled) (settles int64, err error) {
	some := make([]Settlement, len(rest))
	for i, at := range rest {
		some[i] = ss[at]
	}
	var answers []Settled
	err = l.write(ctx, func(ctx context.Context, t *tx) error {
		var err error
		settles = 0
		if answers, err = settle(ctx, t, l, some); err != nil || worker.IsZero() {
			return err
		}
		t.queueSettled(worker, last, &settles)
		return nil
	})
	if err != nil {
		return 0, err
	}
	for i, at := range rest {
		out[at] = answers[i]
	}
	return settles, nil
}

// queueSettled moves a worker's count of settles on, in a transaction that need
// not know yet what it says.
func (t *tx) queueSettled(worker postledger.ID, last Counts, settles *int64) {
	t.queueRead("count a settle", func(r row) error { return r.Scan(settles) },
		`UPDATE worker_settles SET settles = settles + 1 WHERE worker_id = ? AND settles >= ?
			AND EXISTS (SELECT 1 FROM workers w WHERE w.id = worker_id AND w.ended_at IS NULL AND w.beat >= ?)
			RETURNING settles`, worker, last.Settles, last.Beats)
}

// settleRow is what a settle reads of a delivery, under its lock.
type settleRow struct {
	id, message, app, profile, owner, envelope postledger.ID
	lane                                       postledger.Lane
	status                                     postledger.Status
	reason                                     postledger.Reason
	fence                                      int64
	attempts, uncharged                        int
	created, firstCharged, canceled            int64
	resent                                     bool
	response, providerID                       string
}

// change is a settlement that its guard allows, with every column it writes.
type change struct {
	row                        *settleRow
	to                         postledger.Status
	reason                     postledger.Reason
	due, firstCharged          *int64
	sent, settledAt, resolveBy *int64
	attempts, uncharged        int
	envelope                   postledger.ID
	resent                     bool
	response, providerID       string
	event                      *Event
	eventID                    postledger.ID
}

func settle(ctx context.Context, t *tx, l *Ledger, ss []Settlement) ([]Settled, error) {
	if len(ss) == 0 {
		return nil, nil
	}
	ids := make([]postledger.ID, len(ss))
	for i := range ss {
		ids[i] = ss[i].ID
	}
	rows, err := lockDeliveries(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	now, err := t.nowMicros(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Settled, len(ss))
	changes := make([]change, 0, len(ss))
	for i := range ss {
		r := rows[ss[i].ID]
		if r == nil {
			continue
		}
		out[i] = Settled{
			Status: r.status, Reason: r.reason, From: r.status, MessageID: r.message,
			AppID: r.app, ProfileID: r.profile, Lane: r.lane, CreatedAt: fromMicros(r.created),
		}
		c, ok := planChange(r, &ss[i], now)
		if !ok {
			continue
		}
		if c.event != nil {
			c.eventID = l.NewID()
		}
		out[i].Applied, out[i].Status, out[i].Reason = true, c.to, c.reason
		changes = append(changes, c)
	}
	if len(changes) == 0 {
		return out, nil
	}
	slices.SortFunc(changes, func(a, b change) int { return compareIDs(a.row.id, b.row.id) })
	if t.dialect == postgres {
		writeChangesPostgres(t, changes, now)
	} else if err := writeChangesSQLite(ctx, t, changes, now); err != nil {
		return nil, err
	}
	if err := l.announceChanges(ctx, t, changes, now); err != nil {
		return nil, err
	}
	return out, refundCanceled(ctx, t, changes)
}

// planChange is the guard and the meaning of a settlement, the same for every
// database: nil when the row does not allow it.
func planChange(r *settleRow, s *Settlement, now int64) (change, bool) {
	if s.Fence != AnyFence && s.Fence != r.fence {
		return change{}, false
	}
	if !s.Owner.IsZero() && s.Owner != r.owner {
		return change{}, false
	}
	to, reason := s.To, s.Reason
	if to == postledger.StatusQueued && r.canceled != 0 {
		if s.Mover == postledger.MoverOperator {
			return change{}, false // a cancel forbids any resend
		}
		// The wish to cancel waited for the wire, and nothing was accepted.
		to, reason = postledger.StatusCanceled, cancelReason(r.reason)
	}
	if !postledger.CanMove(r.status, to, s.Mover) {
		return change{}, false
	}
	c := change{
		row: r, to: to, reason: reason, attempts: r.attempts, uncharged: r.uncharged,
		envelope: r.envelope, resent: r.resent, response: r.response, providerID: r.providerID, event: s.Event,
	}
	if r.firstCharged != 0 {
		c.firstCharged = &r.firstCharged
	}
	if s.Charged {
		c.attempts++
		c.uncharged = 0
		if c.firstCharged == nil {
			c.firstCharged = &now
		}
	}
	if s.Uncharged {
		c.uncharged++
	}
	if s.Response != "" {
		c.response = s.Response
	}
	if s.ProviderID != "" {
		c.providerID = s.ProviderID
	}
	switch to {
	case postledger.StatusQueued:
		due := now + s.Delay.Microseconds()
		c.due = &due
		switch {
		case s.OwnEnvelope:
			c.envelope = r.id
		case !s.Envelope.IsZero():
			c.envelope = s.Envelope
		}
		c.resent = c.resent || (r.status == postledger.StatusUnconfirmed && s.Mover == postledger.MoverOperator)
	case postledger.StatusUnconfirmed:
		by := now + ResolveWithin.Microseconds()
		c.resolveBy, c.settledAt = &by, &now
	case postledger.StatusSent:
		c.sent, c.settledAt = &now, &now
	default:
		c.settledAt = &now
	}
	return c, true
}

// cancelReason keeps who asked: the wish is noted in the reason of the row
// that is on the wire.
func cancelReason(noted postledger.Reason) postledger.Reason {
	if noted == postledger.ReasonCanceledByOperator || noted == postledger.ReasonProfileRemoved || noted == postledger.ReasonAccessRevoked {
		return noted
	}
	return postledger.ReasonCanceledByApp
}

type statKey struct {
	app, profile postledger.ID
	lane         postledger.Lane
	status       postledger.Status
	reason       postledger.Reason
}

// statDeltas is what settle counts, sorted for the lock order: one more in the
// new settled state, one less in the settled state it leaves.
func statDeltas(changes []change) ([]statKey, map[statKey]int64) {
	sums := map[statKey]int64{}
	for i := range changes {
		c := &changes[i]
		k := statKey{app: c.row.app, profile: c.row.profile, lane: c.row.lane}
		if c.row.status.Settled() {
			k.status, k.reason = c.row.status, c.row.reason
			sums[k]--
		}
		if c.to.Settled() {
			k.status, k.reason = c.to, c.reason
			sums[k]++
		}
	}
	keys := make([]statKey, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b statKey) int {
		return cmp.Or(compareIDs(a.app, b.app), compareIDs(a.profile, b.profile), cmp.Compare(a.lane, b.lane),
			cmp.Compare(a.status, b.status), cmp.Compare(a.reason, b.reason))
	})
	return keys, sums
}

// refundCanceled gives back the quota of deliveries that were canceled while
// they waited. What was on the wire stays charged.
func refundCanceled(ctx context.Context, t *tx, changes []change) error {
	type key struct {
		quotaKey
		minute int64
	}
	sums := map[key]int64{}
	for i := range changes {
		if c := &changes[i]; c.row.status == postledger.StatusQueued && c.to == postledger.StatusCanceled {
			sums[key{quotaKey{c.row.app, c.row.profile}, c.row.created / microsPerMinute}]++
		}
	}
	keys := make([]key, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(compareIDs(a.app, b.app), compareIDs(a.profile, b.profile), cmp.Compare(a.minute, b.minute))
	})
	var errs []error
	for _, k := range keys {
		if err := refundQuota(ctx, t, k.quotaKey, k.minute, sums[k]); err != nil {
			errs = append(errs, fmt.Errorf("refund quota: %w", err))
		}
	}
	return errors.Join(errs...)
}
