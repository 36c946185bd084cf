package jobs

import (
	"fmt"
	"time"
)

// Default limits of a hot set.
const (
	DefaultHotJobs    = 10_000
	DefaultHotBytes   = 64 << 20
	DefaultSlowShare  = 0.5
	DefaultGroupShare = 500
	DefaultLowWater   = 0.8
	DefaultFlagLife   = 60 * time.Second
)

// WithDefaults fills what is zero.
func (l Limits) WithDefaults() Limits {
	if l.Jobs == 0 {
		l.Jobs = DefaultHotJobs
	}
	if l.Bytes == 0 {
		l.Bytes = DefaultHotBytes
	}
	if l.SlowShare == 0 {
		l.SlowShare = DefaultSlowShare
	}
	if l.GroupShare == 0 {
		l.GroupShare = min(DefaultGroupShare, max(l.Jobs/2, 1))
	}
	if l.LowWater == 0 {
		l.LowWater = DefaultLowWater
	}
	if l.FlagLife == 0 {
		l.FlagLife = DefaultFlagLife
	}
	return l
}

// Validate reports the first limit that cannot work. One job of the largest size
// must fit into every share, or it would wait for ever.
func (l Limits) Validate() error {
	largest := (&Entry{Job: Job{
		Handler: string(make([]byte, MaxName)), DedupeKey: string(make([]byte, MaxKey)),
		Group: string(make([]byte, MaxKey)), Payload: make([]byte, MaxPayload),
	}}).HotCost()
	switch {
	case l.Jobs < 2:
		return fmt.Errorf("hot limit: jobs is %d, want at least 2", l.Jobs)
	case l.SlowShare <= 0 || l.SlowShare > 1:
		return fmt.Errorf("hot limit: slow share is %v, want more than 0 and at most 1", l.SlowShare)
	case int64(float64(l.Bytes)*l.SlowShare) < largest:
		return fmt.Errorf("hot limit: bytes is %d with a slow share of %v, want room for the largest job (%d) in it", l.Bytes, l.SlowShare, largest)
	case l.GroupShare < 1:
		return fmt.Errorf("hot limit: group share is %d, want at least 1", l.GroupShare)
	case l.LowWater <= 0 || l.LowWater > 1:
		return fmt.Errorf("hot limit: low water is %v, want more than 0 and at most 1", l.LowWater)
	case l.FlagLife < 0:
		return fmt.Errorf("hot limit: flag life is %v, want more than 0", l.FlagLife)
	}
	return nil
}

// SlowJobs and SlowBytes bound the slow lane.
func (l Limits) SlowJobs() int { return max(int(float64(l.Jobs)*l.SlowShare), 1) }

// SlowBytes bounds the slow lane's bytes.
func (l Limits) SlowBytes() int64 { return int64(float64(l.Bytes) * l.SlowShare) }

// ReserveJobs is the bound for jobs that may not spill.
func (l Limits) ReserveJobs() int { return l.Jobs + max(l.Jobs/10, 1) }

// ReserveBytes is the bound in bytes for jobs that may not spill.
func (l Limits) ReserveBytes() int64 { return l.Bytes + l.Bytes/10 }

// Below tells whether a lane is below its low water, for what the set and the
// lane hold: the set has to be, and the slow lane below its own too.
func (l Limits) Below(lane Lane, jobs int, bytes int64, slow LaneDepth) bool {
	below := float64(jobs) < float64(l.Jobs)*l.LowWater && float64(bytes) < float64(l.Bytes)*l.LowWater
	if lane != Slow {
		return below
	}
	return below && float64(slow.Jobs) < float64(l.SlowJobs())*l.LowWater &&
		float64(slow.Bytes) < float64(l.SlowBytes())*l.LowWater
}

// Fits tells whether one more job of that cost fits into the lane, for what the
// set and the slow lane hold now.
func (l Limits) Fits(lane Lane, cost int64, jobs int, bytes int64, slow LaneDepth) bool {
	if jobs+1 > l.Jobs || bytes+cost > l.Bytes {
		return false
	}
	return lane != Slow || slow.Jobs+1 <= l.SlowJobs() && slow.Bytes+cost <= l.SlowBytes()
}
