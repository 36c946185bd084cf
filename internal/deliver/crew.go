package deliver

// A claim brings as many envelopes as connections are free, and each of them a
// sender. Senders that have nothing left to send wait for the next claim: a new
// goroutine for nearly every message would grow its stack each time.

// handed is an envelope for a sender, which is on the wire's account already.
type handed struct {
	lineup   *lineup
	envelope *envelope
}

// maxIdle bounds the senders that wait, some 16 KB each; others end. At most
// as many wait as had connections at once.
const maxIdle = 256

// startSender gives h to a sender that waits, or to a new one. Worker.mu is held.
func (w *Worker) startSender(h handed) {
	if w.idle > 0 {
		w.idle--
		w.handed <- h // which has room for as many as wait
		return
	}
	w.senders.Go(func() {
		for ok := true; ok; h, ok = w.nextHanded() {
			w.sendFrom(h.lineup, h.envelope)
		}
	})
}

// nextHanded waits for more to send; it is false when the sender shall end.
// w.idle counts those that wait and were handed nothing, so that of the
// senders here, idle may leave and each other has something coming.
func (w *Worker) nextHanded() (handed, bool) {
	w.mu.Lock()
	if w.idle >= maxIdle || w.lifetime.Err() != nil {
		w.mu.Unlock()
		return handed{}, false
	}
	w.idle++
	w.mu.Unlock()
	select {
	case h := <-w.handed:
		return h, true
	case <-w.lifetime.Done():
	}
	w.mu.Lock()
	none := w.idle > 0
	if none {
		w.idle--
	}
	w.mu.Unlock()
	if none {
		return handed{}, false
	}
	return <-w.handed, true
}
