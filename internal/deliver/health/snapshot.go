package health

import (
	"time"

	"github.com/postledger/postledger"
)

// Snapshot is what the API and the metrics show.
type Snapshot struct {
	State State
	// Since is when the profile entered the state.
	Since time.Time
	// Reason is the last failure that speaks for the state; zero while up. Its
	// text is the hop's own when there is a code, and may hold an address then.
	Reason postledger.Outcome
	// NextProbe is when the hop is asked again; zero unless down.
	NextProbe time.Time
	// Probing says that a probe is running.
	Probing bool
	// FailedProbes counts since the profile went down.
	FailedProbes int
	// Alarm is for people, without the hop's text; "" unless paused.
	Alarm string
}

// Snapshot is a copy of all there is to see.
func (h *Health) Snapshot() Snapshot {
	s := Snapshot{
		State: h.state, Since: h.since, Reason: h.reason,
		NextProbe: h.next, Probing: h.probing, FailedProbes: h.failed,
	}
	if h.state == Paused {
		what := "configuration"
		if h.reason.Phase == postledger.PhaseAuth {
			what = "credentials"
		}
		s.Alarm = "the next hop refuses the profile's " + what + " (" + s.Why() + "); change the profile or resume it"
	}
	return s
}

// Why is the reason for people and logs: class, phase and codes, and what we
// found ourselves where the hop said nothing, such as the fault of its
// certificate. What the hop said is left out.
func (s Snapshot) Why() string {
	switch o := s.Reason; {
	case o == (postledger.Outcome{}):
		return ""
	case o.Code != 0 || o.Text == "":
		return o.String()
	default:
		return o.String() + ": " + o.Text
	}
}
