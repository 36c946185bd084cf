package ledger

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

const (
	// LongTrail is from how many claimed deliveries on a key is looked for by
	// its trail: to walk over fewer dead entries takes less than a millisecond.
	LongTrail = 1000
	// trailsMost bounds the keys that one scan looks for so, the longest trails
	// first: each costs two more index probes.
	trailsMost = 64
)

// PassedBy are the keys with the longest trails, and where a look at each of them
// begins now. A caller tells those trails what came of it.
func PassedBy(trails iter.Seq2[ClaimKey, *Trail], now time.Time) []Passed {
	type long struct {
		key   ClaimKey
		trail *Trail
	}
	var all []long
	for k, t := range trails {
		if t.Long() >= LongTrail {
			all = append(all, long{k, t})
		}
	}
	if len(all) > trailsMost {
		slices.SortFunc(all, func(a, b long) int { return cmp.Compare(b.trail.claimed, a.trail.claimed) })
		all = all[:trailsMost]
	}
	out := make([]Passed, len(all))
	for i, l := range all {
		out[i] = Passed{Key: l.key, After: l.trail.Begin(now)}
	}
	return out
}
