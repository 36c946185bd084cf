package redishot

import (
	"context"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Add is jobs.Hot's. Many jobs are several calls, in their order. What was not
// sent when a call fails is Unanswered too.
func (s *Set) Add(ctx context.Context, add jobs.Add) ([]jobs.Admission, error) {
	out := make([]jobs.Admission, len(add.Entries))
	stop := stopped{drain: add.Drain, scopes: map[jobs.Scope]jobs.Admission{}}
	var unsent []int
	for next := 0; next < len(add.Entries); {
		c := s.chunk(&add, next, stop, out)
		next, unsent = c.next, append(unsent, c.unsent...)
		if len(c.entries) == 0 {
			continue
		}
		letters, err := s.letters(ctx, s.scripts.add, c.args, len(c.entries))
		if err != nil {
			return out, unavailable("add jobs", err)
		}
		for i, n := range c.entries {
			out[n] = admission(letters[i])
			stop.note(&add.Entries[n], out[n])
		}
	}
	if add.Drain {
		return out, nil
	}
	return out, s.duplicates(ctx, add.Entries, unsent, out)
}

// duplicates finds those of the jobs that spilled without being sent which the
// set holds already.
func (s *Set) duplicates(ctx context.Context, entries []jobs.Entry, unsent []int, out []jobs.Admission) error {
	if len(unsent) == 0 {
		return nil
	}
	ids := make([]jobs.ID, len(unsent))
	for i, n := range unsent {
		ids[i] = entries[n].ID
	}
	known, err := s.Contains(ctx, ids)
	if err != nil {
		return err
	}
	for i, n := range unsent {
		if known[i] && entries[n].DedupeKey == "" {
			out[n] = jobs.Duplicate
		}
	}
	return nil
}

// stopped keeps the order over the calls of one Add, as the script keeps it within
// one: what is behind a job that was not admitted is not sent. That also saves the
// way there and back to a million payloads that spill.
type stopped struct {
	drain  bool
	scopes map[jobs.Scope]jobs.Admission
}

func (s stopped) note(e *jobs.Entry, a jobs.Admission) {
	switch {
	case !jobs.Spills(e.Kind, e.Bypass) || e.DedupeKey != "":
		// It says nothing of others.
	case s.drain && a == jobs.Full:
		s.scopes[jobs.Scope{Lane: e.Lane}] = a
	case s.drain && a == jobs.Withheld && e.Group != "", !s.drain && a == jobs.Spilled:
		s.scopes[e.Scope()] = a
	}
}

func (s stopped) of(e *jobs.Entry) jobs.Admission {
	if len(s.scopes) == 0 || !jobs.Spills(e.Kind, e.Bypass) {
		return jobs.Unanswered
	}
	if a := s.scopes[jobs.Scope{Lane: e.Lane}]; a != jobs.Unanswered {
		return a
	}
	return s.scopes[e.Scope()]
}

func admission(letter byte) jobs.Admission {
	switch letter {
	case 'A':
		return jobs.Added
	case 'D':
		return jobs.Duplicate
	case 'S':
		return jobs.Spilled
	case 'F':
		return jobs.Full
	case 'W':
		return jobs.Withheld
	default:
		return jobs.Unanswered
	}
}

// chunk is one call: the numbers of its jobs, its arguments, which jobs before
// the next call's were answered without being sent, and where that begins.
type chunk struct {
	entries []int
	args    []any
	unsent  []int
	next    int
}

// chunk makes the call for the jobs from a number on. What is stopped is answered
// at once.
func (s *Set) chunk(add *jobs.Add, from int, stop stopped, out []jobs.Admission) chunk {
	most := min(len(add.Entries)-from, mostJobs)
	c := chunk{entries: make([]int, 0, most), args: make([]any, 3, 3+len(add.Raise)+2*most)}
	c.args[0], c.args[1], c.args[2] = "", "", 0
	if add.Drain {
		c.args[0] = "d"
	}
	if add.Spill != (jobs.SpillID{}) {
		c.args[1] = string(add.Spill[:])
	}
	if from == 0 {
		c.args[2] = len(add.Raise)
		for _, scope := range add.Raise {
			c.args = append(c.args, scopeKey(scope))
		}
	}
	now := time.Now()
	var buffer []byte
	for c.next = from; c.next < len(add.Entries) && len(c.entries) < mostJobs; c.next++ {
		e := &add.Entries[c.next]
		if a := stop.of(e); a != jobs.Unanswered {
			out[c.next] = a
			c.unsent = append(c.unsent, c.next)
			continue
		}
		if len(c.entries) > 0 && len(buffer)+int(e.HotCost()) > mostBytes {
			break
		}
		start := len(buffer)
		buffer = jobs.EncodeEntry(buffer, e)
		delay := int64(0)
		if !e.RunAt.IsZero() {
			// A part of a millisecond must not start it too early.
			delay = max(e.RunAt.Sub(now)+time.Millisecond-1, 0).Milliseconds()
		}
		c.entries = append(c.entries, c.next)
		c.args = append(c.args, buffer[start:len(buffer):len(buffer)], delay)
	}
	return c
}

// scopeKey is how a scope is named in the set.
func scopeKey(scope jobs.Scope) string { return laneKey(scope.Lane) + scope.Group }

func laneKey(lane jobs.Lane) string {
	if lane == jobs.Slow {
		return "s"
	}
	return "f"
}

func laneOf(key byte) jobs.Lane {
	if key == 's' {
		return jobs.Slow
	}
	return jobs.Fast
}
