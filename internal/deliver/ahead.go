package deliver

import "time"

// What a lane has leased is on the wire, ready behind it, or answered and being
// settled. Where the hop is fast, more of it is ready and more is settled at
// once: of what a lease or a settle of 28 deliveries costs the database, a third
// is the transaction, whatever it holds. Where the hop is slow nothing more is
// leased, so that nobody who comes later stands behind it.
const (
	// leaseFactor is how many times its connections a lane may always have
	// leased: one set on the wire, one ready behind it while the first is being
	// settled.
	leaseFactor = 2
	// aheadFactor is how many times its connections it may have leased at most.
	aheadFactor = 6
	// aheadFor is how long what is leased lasts, at most, at the pace the lane
	// had: what an app or a profile that comes later waits for at worst.
	aheadFor = 100 * time.Millisecond
	// aloneFor is how long no immediate delivery must have been leased before any
	// lane leases ahead: one that comes while the leaser reads a lane's rows and
	// bodies waits for that.
	aloneFor = time.Second
	// tempoEvery is how long a lane's tempo is measured for.
	tempoEvery = 100 * time.Millisecond
)

// tempo is how many envelopes of a lane were settled in a time.
type tempo struct {
	since  time.Time
	n      int
	second float64
}

func (t *tempo) note(now time.Time, n int) {
	t.n += n
	t.look(now)
}

func (t *tempo) look(now time.Time) {
	if d := now.Sub(t.since); d >= tempoEvery {
		t.second = float64(t.n) / d.Seconds()
		t.since, t.n = now, 0
	}
}

// depth is how many envelopes a lane with so many connections may have leased,
// ahead or not.
func (t *tempo) depth(now time.Time, connections int, ahead bool) int {
	t.look(now)
	if !ahead {
		return leaseFactor * connections
	}
	return max(leaseFactor*connections, min(aheadFactor*connections, int(t.second*aheadFor.Seconds())))
}

// contentMost is the largest content loaded with a lease, of lanes that have so
// many leased for their connections: together they hold what leaseFactor of
// the largest would.
func contentMost(leased, connections int) int64 {
	if most := leaseFactor * connections; leased > most {
		return int64(contentInLease) * int64(most) / int64(leased)
	}
	return contentInLease
}
