package deliver

import "time"

// Tempo is a lane's tempo, for tests of how far ahead it leases.
type Tempo struct{ t tempo }

// Settled notes that n envelopes were settled.
func (t *Tempo) Settled(now time.Time, n int) { t.t.note(now, n) }

// Depth is how many may be leased.
func (t *Tempo) Depth(now time.Time, connections int, ahead bool) int {
	return t.t.depth(now, connections, ahead)
}

// ContentMost is the largest content that is loaded with a lease.
func ContentMost(leased, connections int) int64 { return contentMost(leased, connections) }
