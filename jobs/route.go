package jobs

import "time"

// HotHorizon is how far ahead a job may be due and still wait in the hot set.
// What is due later waits in the outbox: a thousand retries of tomorrow must not
// take the room of today's work.
const HotHorizon = 60 * time.Second

// Mode says when a job gets a row.
type Mode uint8

const (
	// Always commits a row before Enqueue returns, and keeps it until the job
	// has finished: losing the hot set loses nothing.
	Always Mode = iota
	// Overflow writes a row only when the hot set has no room: a job under the
	// cap is as durable as the hot set.
	Overflow
)

// String is the mode's name in configuration.
func (m Mode) String() string {
	if m == Overflow {
		return "overflow"
	}
	return "always"
}

// Route is the way that a new job takes.
type Route uint8

const (
	// RouteDirect goes to the hot set, or fails.
	RouteDirect Route = iota
	// RouteSpill goes to the hot set, or to the outbox when that has no room,
	// when others already wait there, or when it cannot be reached.
	RouteSpill
	// RouteRow is committed to the outbox and then goes to the hot set; when
	// that has no room, the row waits.
	RouteRow
	// RouteSchedule is committed to the outbox and stays there until it is due.
	RouteSchedule
)

// String is for messages and tests.
func (r Route) String() string {
	switch r {
	case RouteDirect:
		return "direct"
	case RouteSpill:
		return "spill"
	case RouteRow:
		return "row"
	default:
		return "schedule"
	}
}

// RouteOf decides the way of a new job. Only ad-hoc jobs without bypass may wait
// behind a backlog. It looks at nothing but its arguments: whether the hot set
// has room is answered by the hot set itself, in the step that adds.
func RouteOf(mode Mode, kind Kind, bypass bool, runAt, now time.Time) Route {
	switch {
	case runAt.After(now.Add(HotHorizon)):
		return RouteSchedule
	case mode == Always:
		return RouteRow
	case kind != Adhoc || bypass:
		return RouteDirect
	default:
		return RouteSpill
	}
}

// Spills tells whether a job is bounded by the overflow buffer. The others may
// use the hot set's reserve.
func Spills(kind Kind, bypass bool) bool { return kind == Adhoc && !bypass }
