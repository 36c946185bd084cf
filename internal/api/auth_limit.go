package api

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// auditTimeout bounds the write of a line that no answer waits for longer.
	auditTimeout = 5 * time.Second
	// maxBuckets bounds a map of buckets, some 200 bytes each: 2 MiB.
	maxBuckets = 10_000
)

// buckets are token buckets by name. A bucket that is full again is the same
// as a new one and may be dropped.
type buckets struct {
	limit rate.Limit
	burst int
	now   func() time.Time

	mu sync.Mutex
	m  map[string]*rate.Limiter
}

func newBuckets(limit rate.Limit, burst int, now func() time.Time) *buckets {
	return &buckets{limit: limit, burst: burst, now: now, m: map[string]*rate.Limiter{}}
}

// take takes one token, or says how long to wait for one.
func (b *buckets) take(name string) time.Duration {
	now := b.now()
	r := b.of(name, now).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// wait says how long until there is a token, and takes none.
func (b *buckets) wait(name string) time.Duration {
	now := b.now()
	b.mu.Lock()
	l := b.m[name]
	b.mu.Unlock()
	if l == nil {
		return 0
	}
	if missing := 1 - l.TokensAt(now); missing > 0 {
		return time.Duration(missing / float64(b.limit) * float64(time.Second))
	}
	return 0
}

func (b *buckets) of(name string, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.m[name]
	if l == nil {
		b.makeRoom(now)
		l = rate.NewLimiter(b.limit, b.burst)
		b.m[name] = l
	}
	return l
}

func (b *buckets) makeRoom(now time.Time) {
	if len(b.m) < maxBuckets {
		return
	}
	var any string
	for name, l := range b.m {
		any = name
		if l.TokensAt(now) >= float64(b.burst) {
			delete(b.m, name)
		}
	}
	if len(b.m) >= maxBuckets {
		delete(b.m, any) // all are in use: its owner gets a full one
	}
}

// failures counts failed logins by source: twenty at once, then one every
// three seconds, and a line of the audit trail at most once a minute for each
// source and sixty a minute for all.
type failures struct {
	tries *buckets
	lines *buckets
	now   func() time.Time

	mu sync.Mutex
	m  map[string]*failed
}

type failed struct {
	n    int
	last time.Time // when a line was written
}

const (
	failedBurst = 20
	failedEvery = 3 * time.Second
	lineEvery   = time.Minute
)

func newFailures(now func() time.Time) *failures {
	return &failures{
		tries: newBuckets(rate.Every(failedEvery), failedBurst, now),
		lines: newBuckets(rate.Every(time.Second), 60, now),
		now:   now, m: map[string]*failed{},
	}
}

// wait is how long a source must wait before another key of it is looked up.
func (f *failures) wait(source string) time.Duration { return f.tries.wait(source) }

// fail counts a failed login; one that was looked up costs the source a try. It
// returns the number of failures that a line of the audit trail is due for, or
// 0.
func (f *failures) fail(source string, lookedUp bool) int {
	if lookedUp {
		f.tries.take(source)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.m[source]
	if s == nil {
		f.makeRoom()
		s = new(failed)
		f.m[source] = s
	}
	s.n++
	now := f.now()
	if (!s.last.IsZero() && now.Sub(s.last) < lineEvery) || f.lines.take("") > 0 {
		return 0
	}
	n := s.n
	s.n, s.last = 0, now
	return n
}

func (f *failures) makeRoom() {
	if len(f.m) < maxBuckets {
		return
	}
	now := f.now()
	var any string
	for source, s := range f.m {
		any = source
		if now.Sub(s.last) >= lineEvery {
			delete(f.m, source)
		}
	}
	if len(f.m) >= maxBuckets {
		delete(f.m, any)
	}
}
