package deliver

import "time"

// rest is how long a loop leaves a ledger alone that did not answer: its own
// interval at first, twice as long after each further failure, up to restMost.
// A heartbeat that was written ends it, so that it adds nothing to an outage
// but the time to the next one.
type rest struct {
	d     time.Duration
	began time.Time
}

const restMost = 5 * time.Second

// over reports whether the ledger may be asked.
func (r *rest) over(l *lifeline) bool {
	return r.d == 0 || time.Since(r.began) >= r.d || l.answered(r.began)
}

// note keeps how asking it went.
func (r *rest) note(every time.Duration, err error) {
	if err == nil {
		r.d = 0
		return
	}
	r.d, r.began = min(max(2*r.d, every), max(restMost, every)), time.Now()
}
