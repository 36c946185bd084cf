package redishot

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/postledger/postledger/jobs"
)

// lease is the lease's name in the set.
func lease(h *jobs.Held) string {
	return laneKey(h.Lane) + string(h.ID[:]) + strconv.FormatInt(h.Token, 10)
}

// keyed tells the script that there is a dedupe key to look after.
func keyed(h *jobs.Held) string {
	if h.DedupeKey != "" {
		return "k"
	}
	return ""
}

// Ack is jobs.Hot's.
func (s *Set) Ack(ctx context.Context, held []*jobs.Held) ([]bool, error) {
	out := make([]bool, 0, len(held))
	for chunk := range slices.Chunk(held, mostJobs) {
		args := make([]any, 0, 4*len(chunk))
		for _, h := range chunk {
			args = append(args, lease(h), h.Cost, h.Group, keyed(h))
		}
		letters, err := s.letters(ctx, s.scripts.ack, args, len(chunk))
		if err != nil {
			return pad(out, len(held)), unavailable("acknowledge jobs", err)
		}
		out = ones(out, letters)
	}
	return out, nil
}

// Return is jobs.Hot's. The last goes first, so that those for the front keep
// their order.
func (s *Set) Return(ctx context.Context, returns []jobs.Return) ([]bool, error) {
	last := slices.Clone(returns)
	slices.Reverse(last)
	out := make([]bool, 0, len(returns))
	var failed error
	for chunk := range slices.Chunk(last, mostJobs) {
		args := make([]any, 0, 4*len(chunk))
		for _, r := range chunk {
			charge := 0
			if r.Charge {
				charge = 1
			}
			delay := max(r.Delay+time.Millisecond-1, 0).Milliseconds()
			args = append(args, lease(r.Held), delay, charge, keyed(r.Held))
		}
		letters, err := s.letters(ctx, s.scripts.giveBack, args, len(chunk))
		if err != nil {
			failed = unavailable("return jobs", err)
			break
		}
		out = ones(out, letters)
	}
	out = pad(out, len(returns))
	slices.Reverse(out)
	return out, failed
}

// Extend is jobs.Hot's.
func (s *Set) Extend(ctx context.Context, held []*jobs.Held, life time.Duration) ([]jobs.Verdict, error) {
	out := make([]jobs.Verdict, 0, len(held))
	for chunk := range slices.Chunk(held, mostJobs) {
		args := []any{min(life, jobs.MaxLease).Milliseconds()}
		for _, h := range chunk {
			args = append(args, lease(h))
		}
		letters, err := s.letters(ctx, s.scripts.extend, args, len(chunk))
		if err != nil {
			return make([]jobs.Verdict, len(held)), unavailable("extend leases", err)
		}
		for i := range letters {
			out = append(out, verdict(letters[i]))
		}
	}
	return out, nil
}

func verdict(letter byte) jobs.Verdict {
	switch letter {
	case 'L':
		return jobs.Lost
	case 'S':
		return jobs.Superseded
	default:
		return jobs.Kept
	}
}

// Contains is jobs.Hot's.
func (s *Set) Contains(ctx context.Context, ids []jobs.ID) ([]bool, error) {
	out := make([]bool, 0, len(ids))
	for chunk := range slices.Chunk(ids, mostJobs) {
		args := make([]any, 0, len(chunk))
		for _, id := range chunk {
			args = append(args, string(id[:]))
		}
		letters, err := s.letters(ctx, s.scripts.contains, args, len(chunk))
		if err != nil {
			return pad(out, len(ids)), unavailable("look for jobs", err)
		}
		out = ones(out, letters)
	}
	return out, nil
}

func ones(to []bool, letters string) []bool {
	for i := range letters {
		to = append(to, letters[i] == '1')
	}
	return to
}

func pad(to []bool, n int) []bool { return append(to, make([]bool, n-len(to))...) }
