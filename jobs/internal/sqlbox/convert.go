package sqlbox

import (
	"strings"
	"time"

	"github.com/postledger/postledger/jobs"
)

// LaneNumber orders lanes as they are served.
func LaneNumber(lane jobs.Lane) int {
	if lane == jobs.Slow {
		return 1
	}
	return 0
}

func laneOf(number int) jobs.Lane {
	if number == 1 {
		return jobs.Slow
	}
	return jobs.Fast
}

func stateOf(number int) jobs.State {
	switch number {
	case admitted:
		return jobs.Admitted
	case quarantined:
		return jobs.Quarantined
	default:
		return jobs.Buffered
	}
}

// Micros keeps the zero time as zero.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// maxReason bounds what is stored of an error: it is for people, not a log.
const maxReason = 1000

// reasonText makes an error's text storable: PostgreSQL refuses a NUL and what is
// not UTF-8.
func reasonText(reason string) string {
	if len(reason) > maxReason {
		reason = reason[:maxReason]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(reason, "\uFFFD"), "\x00", "\uFFFD")
}
