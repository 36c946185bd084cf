package deliver

import (
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/health"
	"github.com/postledger/postledger/internal/deliver/pace"
	"github.com/postledger/postledger/internal/ledger"
)

// lane is an index of the two lanes: immediate stands before bulk.
type lane int

const (
	immediate lane = iota
	bulk
)

func laneOf(l postledger.Lane) lane {
	if l == postledger.LaneBulk {
		return bulk
	}
	return immediate
}

// lineup is one profile at work: what was leased for it, what is on the wire,
// and whether more may be. Worker.mu guards it.
type lineup struct {
	profile postledger.Profile
	hop     Hop
	health  *health.Health
	pace    *pace.Pace
	// connections and reserve: bulk may use connections − reserve of them.
	connections, reserve int
	queue                [2][]*envelope
	active               [2]int
	// leased counts envelopes from their lease until their settle has
	// committed: a connection carries one, however many recipients it has.
	leased [2]int
	tempo  [2]tempo
	// memory bounds the bodies of this profile in a lane, see memory.go.
	memory [2]*semaphore.Weighted
	// stopped: the hop could not be made from the profile's configuration.
	stopped bool
	// alarm is why this worker paused the profile and could not yet record it;
	// pauseRecorded is when it was recorded, until the ledger was asked again.
	alarm         string
	pauseRecorded time.Time
}

// envelope is what leaves together, from lease to settle.
type envelope struct {
	lineup  *lineup
	lane    lane
	members []ledger.Leased
	message *ledger.Loaded
	// leasedAt is the process's own moment of the lease: the ledger's clock
	// gave LeasedAt, and the time since is measured here.
	leasedAt time.Time
	// era is the lifeline's at the lease.
	era int64
}

// open says that the profile's deliveries may be sent now.
func (l *lineup) open() bool {
	return !l.stopped && l.profile.PausedAt.IsZero() && l.profile.RemovedAt.IsZero() && l.health.State() == health.Up
}

// room is how many deliveries more may be asked for in a lane: each may be an
// envelope. ahead says whether more than the connections need may be.
func (l *lineup) room(ln lane, now time.Time, ahead bool) int {
	if !l.open() {
		return 0
	}
	n := l.tempo[ln].depth(now, l.may(ln), ahead) - l.leased[ln]
	return max(0, min(n, l.pace.Allow(now, paceWindow)))
}

// may is how many connections a lane may use at once.
func (l *lineup) may(ln lane) int {
	if ln == bulk {
		return l.connections - l.reserve
	}
	return l.connections
}

// paceWindow is how far ahead of its pace a profile's deliveries are leased.
const paceWindow = 2 * time.Second

// next takes the envelope whose turn it is, if a connection is free for it.
func (l *lineup) next() *envelope {
	total := l.active[immediate] + l.active[bulk]
	for _, ln := range []lane{immediate, bulk} {
		if len(l.queue[ln]) == 0 || total >= l.connections {
			continue
		}
		if l.active[ln] >= l.may(ln) {
			continue
		}
		e := l.queue[ln][0]
		l.queue[ln][0] = nil
		l.queue[ln] = l.queue[ln][1:]
		l.active[ln]++
		return e
	}
	return nil
}

// recall empties the queue: the envelopes were leased and not begun.
func (l *lineup) recall() []*envelope {
	var out []*envelope
	for ln := range l.queue {
		out = append(out, l.queue[ln]...)
		l.queue[ln] = nil
	}
	return out
}
