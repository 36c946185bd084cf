package api

import (
	"io"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// bodyStep is how much is read before more of the budget is taken. What is
	// smaller is not counted: it is bounded by the number of connections.
	bodyStep = 1 << 20
	// bodyCost is how many bytes of memory one byte of JSON takes at most: the
	// decoder's buffer, the raw value, and the value.
	bodyCost = 3
)

// reservation is what one request has taken of the budget. It takes without
// waiting: requests that wait for each other's share would hold what they have.
type reservation struct {
	budget *semaphore.Weighted
	taken  int64
}

func (r *reservation) take() bool {
	const n = bodyStep * bodyCost
	if !r.budget.TryAcquire(n) {
		return false
	}
	r.taken += n
	return true
}

// release gives back everything: what was read is used up.
func (r *reservation) release() {
	if r.taken > 0 {
		r.budget.Release(r.taken)
		r.taken = 0
	}
}

// reserving takes of the budget as a body is read.
type reserving struct {
	r    io.Reader
	mem  *reservation
	free int64
}

func (s *reserving) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	for s.free -= int64(n); s.free < 0; s.free += bodyStep {
		if !s.mem.take() {
			p := problem(codeOverloaded, "the server reads too many large requests at this moment")
			p.retryAfter = time.Second
			return 0, p
		}
	}
	return n, err
}
