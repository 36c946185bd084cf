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
	// bodyCost is how many bytes of memory one byte of JSON takes at most: first
	// the text while it grows, which moves it to a larger place; then the text,
	// what the filter made of it, and the copies that the database is handed.
	bodyCost = 4
)

// reservation is what one request has taken of the budget. It takes without
// waiting: requests that wait for each other's share would hold what they have.
// One that needs more than there is takes all of it, and is read alone.
type reservation struct {
	budget *semaphore.Weighted
	all    int64 // the size of the budget
	taken  int64
	// kept is the part of it that keep left.
	kept int64
}

func (r *reservation) take() bool {
	n := min(bodyStep*bodyCost, r.all-r.taken)
	if !r.budget.TryAcquire(n) {
		return false
	}
	r.taken += n
	return true
}

// keep gives back all but n bytes more than what is kept already: what has been
// read was decoded, and that much of it waits for the end of the request.
func (r *reservation) keep(n int64) {
	r.kept = min(r.kept+n, r.taken)
	r.budget.Release(r.taken - r.kept)
	r.taken = r.kept
}

// release gives back everything: what was read is used up.
func (r *reservation) release() {
	if r.taken > 0 {
		r.budget.Release(r.taken)
		r.taken, r.kept = 0, 0
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
