package settle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/settle"
)

var leasedAt = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

// id is an id that can be read.
func id(c byte) postledger.ID { return postledger.ID{0: c, 15: 1} }

// member is a leased member of envelope E, or of its own.
func member(c byte, own bool) ledger.Leased {
	m := ledger.Leased{Delivery: postledger.Delivery{
		ID: id(c), EnvelopeID: id('E'), Fence: int64(c), Address: string(c) + "@x.example", LeasedAt: leasedAt,
	}}
	if own {
		m.EnvelopeID = m.ID
	}
	return m
}

// decide runs Decide in the middle of the jitter; new envelopes are N, O, ….
func decide(t *settle.Tried) []ledger.Settlement {
	next := byte('N')
	return settle.Decide(t, draws(0.5), func() postledger.ID { next++; return id(next - 1) })
}

// Every class of outcome, at every number of attempts that matters.
func TestDecideByClass(t *testing.T) {
	const (
		rcpt, dot = postledger.PhaseRcpt, postledger.PhaseDot
		queued    = postledger.StatusQueued
		failed    = postledger.StatusFailed
	)
	old := leasedAt.Add(-25 * time.Hour)
	for _, c := range []struct {
		name                string
		attempts, uncharged int
		first               time.Time
		outcome             postledger.Outcome
		to                  postledger.Status
		reason              postledger.Reason
		charged, returned   bool
		delay               time.Duration
		event               string
	}{
		{name: "accepted", outcome: postledger.Outcome{Class: postledger.OutcomeAccepted, Phase: dot}, to: postledger.StatusSent, charged: true},
		{name: "kept by the sandbox", outcome: postledger.Outcome{Class: postledger.OutcomeAccepted, Phase: dot, Reason: postledger.ReasonSandbox}, to: postledger.StatusSent, reason: postledger.ReasonSandbox, charged: true},
		{name: "accepted at last, long after", attempts: 40, first: old, outcome: postledger.Outcome{Class: postledger.OutcomeAccepted}, to: postledger.StatusSent, charged: true},
		{name: "refused", outcome: postledger.Outcome{Class: postledger.OutcomeRefused, Phase: rcpt, Reason: postledger.ReasonRejectedRecipient}, to: failed, reason: postledger.ReasonRejectedRecipient, charged: true, event: "refused"},
		{name: "refused without a reason", outcome: postledger.Outcome{Class: postledger.OutcomeRefused, Phase: dot}, to: failed, reason: postledger.ReasonRejectedMessage, charged: true, event: "refused"},
		{name: "no answer", outcome: postledger.Outcome{Class: postledger.OutcomeUnknown, Phase: dot}, to: postledger.StatusUnconfirmed, reason: postledger.ReasonNoAnswer, charged: true, event: "unknown"},
		{name: "no answer, long after", attempts: 9, first: old, outcome: postledger.Outcome{Class: postledger.OutcomeUnknown}, to: postledger.StatusUnconfirmed, reason: postledger.ReasonNoAnswer, charged: true, event: "unknown"},
		{name: "deferred", outcome: postledger.Outcome{Class: postledger.OutcomeDeferred, Phase: rcpt}, to: queued, reason: postledger.ReasonDeferred, charged: true, delay: time.Minute, event: "deferred"},
		{name: "deferred for the fourth time", attempts: 3, first: leasedAt.Add(-7 * time.Minute), outcome: postledger.Outcome{Class: postledger.OutcomeDeferred}, to: queued, reason: postledger.ReasonDeferred, charged: true, delay: 8 * time.Minute, event: "deferred"},
		{name: "deferred past the horizon", attempts: 3, first: old, outcome: postledger.Outcome{Class: postledger.OutcomeDeferred, Reason: postledger.ReasonDeferred}, to: failed, reason: postledger.ReasonRetriesExhausted, charged: true, event: "deferred"},
		{name: "throttled", outcome: postledger.Outcome{Class: postledger.OutcomeThrottled, Phase: dot}, to: queued, reason: postledger.ReasonThrottled, returned: true, delay: time.Second, event: "throttled"},
		{name: "throttled for the fourth time", uncharged: 3, outcome: postledger.Outcome{Class: postledger.OutcomeThrottled}, to: queued, reason: postledger.ReasonThrottled, returned: true, delay: 8 * time.Second, event: "throttled"},
		{name: "throttled for the nineteenth time", uncharged: 18, outcome: postledger.Outcome{Class: postledger.OutcomeThrottled}, to: queued, reason: postledger.ReasonThrottled, returned: true, delay: time.Minute, event: "throttled"},
		{name: "throttled for the twentieth time", uncharged: 19, attempts: 1, first: leasedAt.Add(-time.Hour), outcome: postledger.Outcome{Class: postledger.OutcomeThrottled}, to: queued, reason: postledger.ReasonThrottled, charged: true, delay: 2 * time.Minute, event: "throttled"},
		{name: "throttled for the twentieth time past the horizon", uncharged: 19, attempts: 1, first: old, outcome: postledger.Outcome{Class: postledger.OutcomeThrottled}, to: failed, reason: postledger.ReasonRetriesExhausted, charged: true, event: "throttled"},
		{name: "throttled past the horizon is no charged failure", uncharged: 4, first: old, outcome: postledger.Outcome{Class: postledger.OutcomeThrottled}, to: queued, reason: postledger.ReasonThrottled, returned: true, delay: 16 * time.Second, event: "throttled"},
		{name: "unavailable", attempts: 5, first: old, uncharged: 19, outcome: postledger.Outcome{Class: postledger.OutcomeUnavailable}, to: queued, reason: postledger.ReasonUnavailable, delay: time.Second, event: "unavailable"},
		{name: "misconfigured", attempts: 5, first: old, uncharged: 19, outcome: postledger.Outcome{Class: postledger.OutcomeMisconfigured}, to: queued, reason: postledger.ReasonMisconfigured, delay: time.Second, event: "misconfigured"},
		{name: "without its attachments", uncharged: 2, outcome: postledger.Outcome{Class: postledger.OutcomeReturned, Reason: postledger.ReasonStorageUnavailable}, to: queued, reason: postledger.ReasonStorageUnavailable, returned: true, delay: 4 * time.Second},
		{name: "without its attachments for a day", attempts: 5, first: old, uncharged: 1440, outcome: postledger.Outcome{Class: postledger.OutcomeReturned, Reason: postledger.ReasonStorageUnavailable}, to: queued, reason: postledger.ReasonStorageUnavailable, returned: true, delay: time.Minute},
		{name: "returned", attempts: 5, first: old, uncharged: 19, outcome: postledger.Outcome{Class: postledger.OutcomeReturned}, to: queued, reason: postledger.ReasonReturned},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := member('a', true)
			m.Attempts, m.Uncharged, m.FirstChargedAt = c.attempts, c.uncharged, c.first
			c.outcome.Text, c.outcome.ProviderID = "said to A@X.example", "q1"
			got := decide(&settle.Tried{
				Members: []ledger.Leased{m}, Outcomes: []postledger.Outcome{c.outcome}, Mover: postledger.MoverRecovery, Owner: id('w'),
			})[0]
			if (got.Event != nil) != (c.event != "") || got.Event != nil && (got.Event.Kind != c.event || got.Event.Phase != c.outcome.Phase) {
				t.Errorf("event %+v, want %q", got.Event, c.event)
			}
			got.Event = nil
			want := ledger.Settlement{
				ID: id('a'), Fence: 'a', Mover: postledger.MoverRecovery, Owner: id('w'), To: c.to, Reason: c.reason,
				Charged: c.charged, Uncharged: c.returned, Delay: c.delay, Response: "said to {rcpt}", ProviderID: "q1",
			}
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if !postledger.CanMove(postledger.StatusSending, got.To, got.Mover) {
				t.Errorf("%s may not move sending to %s", got.Mover, got.To)
			}
		})
	}
}

func TestDecideKeepsTheProfilesHorizon(t *testing.T) {
	m := member('a', true)
	m.FirstChargedAt = leasedAt.Add(-time.Hour)
	for horizon, want := range map[time.Duration]postledger.Status{
		time.Hour: postledger.StatusFailed, 61 * time.Minute: postledger.StatusQueued,
	} {
		got := decide(&settle.Tried{
			Members: []ledger.Leased{m}, Outcomes: []postledger.Outcome{{Class: postledger.OutcomeDeferred}},
			Mover: postledger.MoverWorker, Horizon: horizon,
		})
		if got[0].To != want {
			t.Errorf("horizon %v: %s, want %s", horizon, got[0].To, want)
		}
	}
}

// Which envelope the members that go back leave in, and when.
func TestDecideFormsEnvelopes(t *testing.T) {
	outcomes := map[byte]postledger.Outcome{
		'A': {Class: postledger.OutcomeAccepted}, 'R': {Class: postledger.OutcomeRefused}, 'D': {Class: postledger.OutcomeDeferred},
		'T': {Class: postledger.OutcomeThrottled}, 'B': {Class: postledger.OutcomeReturned}, 'C': {Class: postledger.OutcomeUnavailable},
		'U': {Class: postledger.OutcomeUnknown},
	}
	for _, c := range []struct {
		name     string
		outcomes string
		// envelopes: '.' settled, '=' stays in its envelope, '1' its own, a
		// letter a new one. delays are in seconds.
		envelopes string
		delays    []int
		// attempts and returns before, by member.
		attempts, uncharged []int
		own                 bool
	}{
		{name: "single, deferred", outcomes: "D", envelopes: "=", delays: []int{60}, own: true},
		{name: "single, returned", outcomes: "B", envelopes: "=", delays: []int{0}, own: true},
		{name: "all accepted", outcomes: "AAA", envelopes: "..."},
		{name: "all returned", outcomes: "BBB", envelopes: "===", delays: []int{0, 0, 0}},
		{name: "all unreachable", outcomes: "CCC", envelopes: "===", delays: []int{1, 1, 1}},
		{name: "all throttled", outcomes: "TTT", envelopes: "===", delays: []int{4, 4, 4}, uncharged: []int{0, 2, 1}},
		{name: "all throttled, one charged by it", outcomes: "TTT", envelopes: "N1N", delays: []int{1, 60, 1}, uncharged: []int{0, 19, 0}},
		{name: "all deferred", outcomes: "DDD", envelopes: "NNN", delays: []int{60, 60, 60}},
		{name: "all deferred, not as often", outcomes: "DDD", envelopes: "NNN", delays: []int{240, 240, 240}, attempts: []int{0, 2, 1}},
		{name: "one deferred", outcomes: "ADA", envelopes: ".1.", delays: []int{0, 60, 0}},
		{name: "two deferred", outcomes: "DAD", envelopes: "N.N", delays: []int{60, 0, 60}},
		{name: "deferred beside a refusal", outcomes: "RDD", envelopes: ".NN", delays: []int{0, 60, 60}},
		{name: "deferred beside doubt", outcomes: "UDU", envelopes: ".1.", delays: []int{0, 60, 0}},
		{name: "no room for the last two", outcomes: "AABB", envelopes: "..NN", delays: []int{0, 0, 0, 0}},
		{name: "no room for the last", outcomes: "ADB", envelopes: ".11", delays: []int{0, 60, 0}},
		{name: "deferred and no room", outcomes: "DDBB", envelopes: "NNOO", delays: []int{60, 60, 0, 0}},
		{name: "refused, the rest throttled", outcomes: "RTTBB", envelopes: ".NNOO", delays: []int{0, 1, 1, 0, 0}},
		{name: "the last of a shared one, returned", outcomes: "B", envelopes: "=", delays: []int{0}},
		{name: "the last of a shared one, deferred", outcomes: "D", envelopes: "1", delays: []int{60}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tried := &settle.Tried{Mover: postledger.MoverWorker}
			for i := range c.outcomes {
				m := member(byte('a'+i), c.own)
				if c.attempts != nil {
					m.Attempts = c.attempts[i]
				}
				if c.uncharged != nil {
					m.Uncharged = c.uncharged[i]
				}
				tried.Members = append(tried.Members, m)
				tried.Outcomes = append(tried.Outcomes, outcomes[c.outcomes[i]])
			}
			got := decide(tried)
			names := map[postledger.ID]byte{}
			for i, s := range got {
				if s.ID != tried.Members[i].ID {
					t.Fatalf("settlement %d is of another member", i)
				}
				if s.To != postledger.StatusQueued {
					if c.envelopes[i] != '.' || !s.Envelope.IsZero() {
						t.Errorf("member %d: %s with envelope %v", i, s.To, s.Envelope)
					}
					continue
				}
				if want := time.Duration(c.delays[i]) * time.Second; s.Delay != want {
					t.Errorf("member %d waits %v, want %v", i, s.Delay, want)
				}
				switch want := c.envelopes[i]; want {
				case '=':
					if !s.Envelope.IsZero() {
						t.Errorf("member %d left its envelope", i)
					}
				case '1':
					if s.Envelope != s.ID {
						t.Errorf("member %d is in %v, want its own", i, s.Envelope)
					}
				default:
					if was, ok := names[s.Envelope]; s.Envelope.IsZero() || s.Envelope == s.ID || ok && was != want {
						t.Errorf("member %d is in %v, want that of %c", i, s.Envelope, want)
					}
					names[s.Envelope] = want
				}
			}
			seen := slices.Collect(func(yield func(byte) bool) {
				for _, n := range names {
					if !yield(n) {
						return
					}
				}
			})
			slices.Sort(seen)
			if len(slices.Compact(seen)) != len(names) {
				t.Errorf("members that belong together are apart: %v", names)
			}
		})
	}
}
