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
	// text is the hop's own and may hold an address.
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
		s.Alarm = "the next hop refuses the profile's " + what + " (" + h.reason.String() + "); change the profile or resume it"
	}
	return s
}
