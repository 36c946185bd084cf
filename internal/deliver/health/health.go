// Package health decides whether a profile's next hop is worth trying.
//
// A failure before MAIL was answered (RFC 5321 §3.3: resolution, connect,
// greeting, TLS, EHLO, a temporary AUTH failure) says nothing about a message.
// It belongs to the profile: the delivery returns uncharged and the profile is
// down, so that claims skip it and one probe at a time asks whether the hop is
// back. Refused credentials or configuration pause the profile with an alarm.
//
// It is a state machine only: the caller passes every moment, owns the value
// and guards it. The contract:
//
//		up      unavailable attempt, no success since it started   → down
//		up      misconfigured attempt                              → paused
//		down    probe accepted                                     → up
//		down    probe or attempt misconfigured                     → paused
//		paused  Resume (the profile was changed, or an operator)   → up
//
//	  - One connection that fails while others succeed does not take the profile
//	    down: an attempt's Ticket remembers how many successes there were when it
//	    started, and its failure counts only when there was none since. No clock
//	    is compared. Refused credentials count at once all the same: connections
//	    that logged in before the password was changed go on succeeding, and
//	    every further try is a step towards a locked account.
//	  - Resume starts anew: what attempts say that began before it, with the
//	    settings that were mended, does not count.
//	  - A success is an answer of the hop to MAIL or anything after it, whatever
//	    the answer. Throttling is one too; the pace reacts to it.
//	  - While down only a probe's success releases. Answers to what was on the
//	    wire when it went down prove nothing about new connections.
//	  - The first probe is due 5 s after the failure, the next ones after twice
//	    the time each, at most 60 s. The interval starts over only with a success
//	    of a delivery: a hop that passes probes and then fails at once keeps it.
//	  - A clock that steps back does not put a probe off, and one that steps
//	    forward makes it due early.
//
// Who asks first after a release is the caller's order: immediate, then bulk.
package health

import (
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

const (
	// ProbeFirst is the time from a failure to the first probe.
	ProbeFirst = 5 * time.Second
	// ProbeMost is the longest time between two probes.
	ProbeMost = 60 * time.Second
)

// State is what claims go by.
type State uint8

// The states of a profile's health.
const (
	// Up: claims go on.
	Up State = iota
	// Down: the hop cannot be reached; claims skip the profile until a probe
	// succeeds.
	Down
	// Paused: the hop refuses our credentials or configuration; nothing is
	// tried until somebody changes something.
	Paused
)

// String is the state's lower-case name.
func (s State) String() string {
	switch s {
	case Up:
		return "up"
	case Down:
		return "down"
	case Paused:
		return "paused"
	default:
		return fmt.Sprintf("state(%d)", uint8(s))
	}
}

// Ticket is taken when an attempt starts and given back with its outcome.
type Ticket struct{ successes, resumes uint64 }

// Health is the state of one profile's next hop.
type Health struct {
	state  State
	since  time.Time
	reason postledger.Outcome

	now Ticket // what has been seen so far

	interval time.Duration // between the last failure and the next probe
	next     time.Time     // when a probe is due, while down
	probing  bool
	failed   int       // probes that failed since it went down
	seen     time.Time // the last moment the caller passed
}

// New is the health of a profile nothing is known about: up.
func New(now time.Time) *Health { return &Health{since: now, seen: now} }

// State is the state now.
func (h *Health) State() State { return h.state }

// Start begins an attempt, right before its connection is opened or reused.
func (h *Health) Start() Ticket { return h.now }

// Observe takes the outcome of an attempt; of an envelope with many
// recipients, any one that is typical of it. It reports whether the state has
// changed.
func (h *Health) Observe(now time.Time, t Ticket, o postledger.Outcome) bool {
	h.tick(now)
	if t.resumes != h.now.resumes {
		return false // it was made before somebody mended what it speaks of
	}
	switch {
	case o.Class == postledger.OutcomeMisconfigured:
		return h.pause(now, o)
	case o.Class == postledger.OutcomeUnavailable:
		if h.state != Up || t != h.now {
			return false
		}
		h.fall(now, o)
		return true
	case answered(o):
		h.now.successes++
		if h.state == Up {
			h.interval = 0
		}
	}
	return false
}

// answered knows the outcomes that show a working hop. Unknown is none: what
// cut the answer off may be the hop's end. Returned is about us.
func answered(o postledger.Outcome) bool {
	switch o.Class {
	case postledger.OutcomeAccepted:
		return true
	case postledger.OutcomeRefused, postledger.OutcomeDeferred, postledger.OutcomeThrottled:
		return o.Code != 0 && o.Phase >= postledger.PhaseMail
	default:
		return false
	}
}

// StartProbe says whether to probe now. After true it says false until Probed
// was called: there is one probe at a time.
func (h *Health) StartProbe(now time.Time) bool {
	h.tick(now)
	if h.state != Down || h.probing || now.Before(h.next) {
		return false
	}
	h.probing = true
	return true
}

// Probed takes the outcome of the probe. It reports whether the state has
// changed.
func (h *Health) Probed(now time.Time, o postledger.Outcome) bool {
	h.tick(now)
	if !h.probing {
		return false
	}
	h.probing = false
	switch {
	case h.state != Down:
		return false // paused or resumed meanwhile
	case o.Class == postledger.OutcomeAccepted:
		h.enter(now, Up, postledger.Outcome{})
		return true
	case o.Class == postledger.OutcomeMisconfigured:
		return h.pause(now, o)
	case o.Class == postledger.OutcomeReturned:
		h.next = now.Add(h.interval) // given up on our side: no verdict
		return false
	default:
		h.failed++
		h.reason = o
		h.interval = min(2*h.interval, ProbeMost)
		h.next = now.Add(h.interval)
		return false
	}
}

// Resume forgets everything and tries again: the profile was changed, or an
// operator says so. It reports whether the state has changed.
func (h *Health) Resume(now time.Time) bool {
	h.tick(now)
	h.interval = 0
	h.now.resumes++
	if h.state == Up {
		return false
	}
	h.enter(now, Up, postledger.Outcome{})
	return true
}

func (h *Health) fall(now time.Time, o postledger.Outcome) {
	h.enter(now, Down, o)
	if h.interval == 0 {
		h.interval = ProbeFirst
	} else {
		h.interval = min(2*h.interval, ProbeMost)
	}
	h.next = now.Add(h.interval)
}

func (h *Health) pause(now time.Time, o postledger.Outcome) bool {
	if h.state == Paused {
		return false
	}
	h.enter(now, Paused, o)
	h.interval = 0
	return true
}

func (h *Health) enter(now time.Time, s State, reason postledger.Outcome) {
	h.state, h.since, h.reason = s, now, reason
	h.next, h.failed = time.Time{}, 0
}

// tick moves what is due along with a clock that stepped back.
func (h *Health) tick(now time.Time) {
	if back := h.seen.Sub(now); back > 0 && !h.next.IsZero() {
		h.next = h.next.Add(-back)
	}
	h.seen = now
}
