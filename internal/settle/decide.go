package settle

import (
	"slices"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Tried is one envelope that was leased, and what became of its members.
type Tried struct {
	Members  []ledger.Leased
	Outcomes []postledger.Outcome
	// Horizon is the profile's: how long after its first charged failure a
	// delivery is retried.
	Horizon time.Duration
	// Mover is the worker, or recovery when the outcome was read from the
	// journal of a dead one.
	Mover postledger.Mover
	// Owner guards a recovery: the worker that held the lease.
	Owner postledger.ID
}

// Decide says what is written for each member. rnd gives numbers in [0,1) for
// the jitter, and newID the id of an envelope formed anew.
//
// Members that go back to be tried again leave their envelope: those that were
// charged together form a new one, with a new id and the same Message-ID,
// since what they were in has been offered to the hop. Members of an envelope
// that went back as a whole, uncharged and therefore never offered, stay in it.
func Decide(t *Tried, rnd func() float64, newID func() postledger.ID) []ledger.Settlement {
	out := make([]ledger.Settlement, len(t.Members))
	for i := range t.Members {
		out[i] = decideOne(t, i, rnd)
	}
	reform(t, out, newID)
	return out
}

func decideOne(t *Tried, i int, rnd func() float64) ledger.Settlement {
	m, o := &t.Members[i], t.Outcomes[i]
	s := ledger.Settlement{
		ID: m.ID, App: m.AppID, Fence: m.Fence, Mover: t.Mover, Owner: t.Owner, Reason: o.Reason,
		Response: HideAddress(o.Text, m.Address), ProviderID: o.ProviderID,
	}
	kind := o.Class.String()
	switch o.Class {
	case postledger.OutcomeAccepted:
		s.To = postledger.StatusSent
		s.Charged = true
	case postledger.OutcomeRefused:
		s.To, s.Charged = postledger.StatusFailed, true
		if s.Reason == "" {
			s.Reason = postledger.ReasonRejectedMessage
		}
	case postledger.OutcomeUnknown:
		s.To, s.Charged = postledger.StatusUnconfirmed, true
		if s.Reason == "" {
			s.Reason = postledger.ReasonNoAnswer
		}
	case postledger.OutcomeDeferred:
		chargedFailure(&s, m, t.Horizon, rnd)
	case postledger.OutcomeThrottled:
		s.To, s.Reason = postledger.StatusQueued, unchargedReason(o)
		s.Uncharged, s.Delay = true, throttleDelay(m.Uncharged, rnd)
		if ChargesAfter(m.Uncharged) {
			s.Uncharged = false
			chargedFailure(&s, m, t.Horizon, rnd)
		}
	case postledger.OutcomeUnavailable, postledger.OutcomeMisconfigured:
		// The profile's trouble, however long it lasts: never charged. The
		// short wait keeps a hop that refuses some connections while others
		// work from being asked in a loop.
		s.To, s.Reason, s.Delay = postledger.StatusQueued, unchargedReason(o), unavailableDelay
	default: // returned: not the hop's doing
		s.To, s.Reason = postledger.StatusQueued, unchargedReason(o)
		if s.Reason == postledger.ReasonStorageUnavailable {
			// Never charged, however long the store is away. It waits longer
			// each time, so that a large backlog does not go round in a loop.
			// A throttle that follows counts these returns with its own.
			s.Uncharged, s.Delay = true, throttleDelay(m.Uncharged, rnd)
		}
	}
	if s.To != postledger.StatusSent && o.Class != postledger.OutcomeReturned {
		s.Event = &ledger.Event{Kind: kind, Phase: o.Phase, Code: o.Code, Enhanced: o.Enhanced}
	}
	return s
}

// unavailableDelay is how long a delivery waits whose connection failed.
const unavailableDelay = time.Second

// throttleDelay doubles from a second to a minute with each return in a row,
// ± the jitter of a retry: the profile's pace is what really slows down.
func throttleDelay(returns int, rnd func() float64) time.Duration {
	wait := min(time.Second<<min(returns, 6), time.Minute)
	return time.Duration(float64(wait) * (1 + BackoffJitter*(2*rnd()-1)))
}

// chargedFailure retries by the schedule until the horizon. The horizon is
// looked at here only, when a charged attempt has just failed: nothing that
// waits for pace, quota or a profile expires by it.
func chargedFailure(s *ledger.Settlement, m *ledger.Leased, horizon time.Duration, rnd func() float64) {
	s.Charged = true
	r := Retry{Horizon: horizon}
	delay, again := r.After(m.Attempts+1, m.FirstChargedAt, m.LeasedAt, rnd)
	if !again {
		s.To, s.Reason, s.Delay = postledger.StatusFailed, postledger.ReasonRetriesExhausted, 0
		return
	}
	s.To, s.Delay = postledger.StatusQueued, delay
	if s.Reason == "" {
		s.Reason = postledger.ReasonDeferred
	}
}

func unchargedReason(o postledger.Outcome) postledger.Reason {
	if o.Reason != "" {
		return o.Reason
	}
	switch o.Class {
	case postledger.OutcomeThrottled:
		return postledger.ReasonThrottled
	case postledger.OutcomeUnavailable:
		return postledger.ReasonUnavailable
	case postledger.OutcomeMisconfigured:
		return postledger.ReasonMisconfigured
	default:
		return postledger.ReasonReturned
	}
}

// reform gives the members that go back a common new envelope and one due time.
func reform(t *Tried, out []ledger.Settlement, newID func() postledger.ID) {
	if len(out) == 1 && t.Members[0].EnvelopeID == t.Members[0].ID {
		return // it is its own envelope for good
	}
	// What was offered to the hop: somebody is settled, or charged. A common
	// throttle is no such thing: the whole envelope comes again as it was.
	offered := slices.ContainsFunc(out, func(s ledger.Settlement) bool {
		return s.To != postledger.StatusQueued || s.Charged
	})
	// The charged wait for their retry, the throttled for the pace, and those
	// that were only returned leave at once.
	groups := map[[2]bool][]*ledger.Settlement{}
	for i := range out {
		if s := &out[i]; s.To == postledger.StatusQueued {
			k := [2]bool{s.Charged, s.Uncharged}
			if !offered {
				k = [2]bool{}
			}
			groups[k] = append(groups[k], s)
		}
	}
	for _, group := range groups {
		var delay time.Duration
		for _, s := range group {
			delay = max(delay, s.Delay)
		}
		var envelope postledger.ID // zero keeps the one they are in
		switch {
		case offered && len(group) == 1:
			envelope = group[0].ID
		case offered:
			envelope = newID()
		}
		for _, s := range group {
			s.Envelope, s.Delay = envelope, delay
		}
	}
}
