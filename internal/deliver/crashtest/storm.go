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
}

// Storm kills one process after the other. Most kills come when the sink's
// record has grown by a random number of lines, so that a slow machine is
// killed as often in the middle of its work as a fast one; one in four comes
// in the first third of a second, inside start and recovery.
func Storm(tb testing.TB, kills, deliveries int, sink *Sink, start func() Process, afterKill func()) {
	tb.Helper()
	for k := range kills {
		p := start()
		if k%4 == 3 {
			select {
			case <-time.After(rand.N(333 * time.Millisecond)):
			case <-p.Dead():
			}
		} else {
			// On average all but a tenth are at the hop after the last kill.
			share := deliveries * 9 / 10 * 4 / (3 * kills)
			await(tb, sink, p, sink.Lines()+rand.N(2*share+1), deliveries)
		}
		select {
		case <-p.Dead():
			tb.Fatalf("the process ended before kill %d", k+1)
		default:
		}
		p.Kill()
		afterKill()
		if tb.Failed() {
			tb.Fatalf("after kill %d of %d", k+1, kills)
		}
	}
}

// await returns when the record has so many lines, or has not grown for two
// seconds because nothing is left to send.
func await(tb testing.TB, sink *Sink, p Process, lines, most int) {
	tb.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	last, grew := 0, time.Now()
	for {
		n := sink.Lines()
		if n >= min(lines, most) {
			return
		}
		if n > last {
			last, grew = n, time.Now()
		}
		if time.Since(grew) > 2*time.Second {
			return
		}
		select {
		case <-poll.C:
		case <-p.Dead():
			return
		}
	}
}
