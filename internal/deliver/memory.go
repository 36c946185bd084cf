package deliver

import "golang.org/x/sync/semaphore"

// The memory budget is halved between the lanes, so that immediate mail does
// not wait for what large bulk bodies hold (invariant 8); and a profile may
// have at most half of a lane's, so that a hop that hangs does not hold what
// the others need.

// budgets makes one bound a lane, of n bytes each.
func budgets(n int64) [2]*semaphore.Weighted {
	return [2]*semaphore.Weighted{immediate: semaphore.NewWeighted(n), bulk: semaphore.NewWeighted(n)}
}

// takeMemory waits for what an envelope holds while it is on the wire: the
// content, its encoded form and the buffers between. That is taken for no more
// than a profile's share, so that the largest message can pass alone.
func (w *Worker) takeMemory(e *envelope) (release func(), err error) {
	n := min(64<<10+4*e.message.SizeBytes, w.c.MemoryBudget/4)
	own, all := e.lineup.memory[e.lane], w.memory[e.lane]
	if err := own.Acquire(w.work, n); err != nil {
		return nil, err
	}
	if err := all.Acquire(w.work, n); err != nil {
		own.Release(n)
		return nil, err
	}
	return func() { all.Release(n); own.Release(n) }, nil
}
