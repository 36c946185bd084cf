package deliver

import "time"

// pruner is a transport that keeps idle connections and has no goroutine to
// close them when they grow too old.
type pruner interface{ Prune(now time.Time) }

// pruneLoop has idle connections closed that nothing was sent on for a while:
// the hop's table of connections is not ours to fill.
func (w *Worker) pruneLoop() {
	tick := time.NewTicker(w.c.Prune)
	defer tick.Stop()
	for {
		select {
		case <-w.lifetime.Done():
			return
		case <-tick.C:
		}
		w.mu.Lock()
		var found []pruner
		for _, l := range w.lineups {
			if p, ok := l.hop.Transport.(pruner); ok {
				found = append(found, p)
			}
		}
		w.mu.Unlock()
		now := time.Now()
		for _, p := range found {
			p.Prune(now)
		}
	}
}
