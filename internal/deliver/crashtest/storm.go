package crashtest

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Process is a delivering process that may be starting still.
type Process interface {
	// Kill is kill -9; it returns when the kernel has ended the process.
	Kill()
	// Dead is closed when the process has ended.
	Dead() <-chan struct{}
	// PID is its number.
	PID() int
}

// Plan is what a storm does.
type Plan struct {
	// Kills are over all the processes together.
	Kills int
	// Deliveries is how many the sink will have in the end, about.
	Deliveries int
	// Start makes the process at a place, 0 for the first; one that was killed
	// has its successor at the same place. Places is how many live at a time,
	// one when it is 0.
	Start  func(place int) Process
	Places int
	// AfterKill checks what a kill left, while the other processes stand still.
	AfterKill func(living []Process)
	// Left, if set, says whether anything is left to send. Without it a record
	// that has not grown for two seconds is taken for complete, and on a machine
	// where a start takes longer than that every kill comes before the work.
	Left func() bool
}

// Storm kills processes again and again, and returns those that live then.
//
// Most kills come when the sink's record has grown by a random number of lines,
// so that a slow machine is killed as often in the middle of its work as a fast
// one; one in four comes in the first third of a second of a process's life,
// inside start and recovery. Of several processes a random one is killed, and
// now and then one more in the same moment. The others are stopped from right
// before the kill until the check is done, so that what they would recover is
// there to be looked at; being stopped anywhere is a small fault of its own.
func Storm(tb testing.TB, s *Sink, p Plan) []Process {
	tb.Helper()
	procs := make([]Process, max(1, p.Places))
	for i := range procs {
		procs[i] = p.Start(i)
	}
	newest := 0
	for kills := 0; kills < p.Kills; {
		victims := []int{rand.N(len(procs))}
		if kills%4 == 3 {
			victims[0] = newest
			select {
			case <-time.After(rand.N(333 * time.Millisecond)):
			case <-procs[newest].Dead():
			}
		} else {
			// On average all but a tenth are at the hop after the last kill.
			share := p.Deliveries * 9 / 10 * 4 / (3 * p.Kills)
			await(tb, s, procs, s.Lines()+rand.N(2*share+1), &p)
		}
		if other := rand.N(len(procs)); other != victims[0] && rand.N(8) == 0 && kills+1 < p.Kills {
			victims = append(victims, other)
		}
		for i, q := range procs {
			select {
			case <-q.Dead():
				tb.Fatalf("process %d ended by itself before kill %d", i, kills+1)
			default:
			}
		}
		var living []Process
		for i, q := range procs {
			if i != victims[0] && (len(victims) == 1 || i != victims[1]) {
				living = append(living, q)
				freeze(tb, q)
			}
		}
		for _, v := range victims {
			procs[v].Kill()
		}
		kills += len(victims)
		p.AfterKill(living)
		if tb.Failed() {
			tb.Fatalf("after kill %d of %d", kills, p.Kills)
		}
		for _, q := range living {
			thaw(tb, q)
		}
		for _, v := range victims {
			procs[v] = p.Start(v)
			newest = v
		}
	}
	return procs
}

// await returns when the record has so many lines, or has not grown for two
// seconds because nothing is left to send, or for a minute whatever is left.
func await(tb testing.TB, sink *Sink, procs []Process, lines int, p *Plan) {
	tb.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	last, grew := 0, time.Now()
	asked := grew
	for {
		n := sink.Lines()
		if n >= min(lines, p.Deliveries) {
			return
		}
		if n > last {
			last, grew = n, time.Now()
			asked = grew
		}
		if time.Since(asked) > 2*time.Second {
			if p.Left == nil || !p.Left() || time.Since(grew) > time.Minute {
				return
			}
			asked = time.Now()
		}
		<-poll.C
		for _, q := range procs {
			select {
			case <-q.Dead():
				return
			default:
			}
		}
	}
}
