package redishot

import (
	"context"
	"fmt"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Polls wait longer from one to the next: a worker that idles costs the server 20
// calls a second, and a job that comes starts within 50 ms.
const (
	firstPoll = 2 * time.Millisecond
	lastPoll  = 50 * time.Millisecond
)

// Take is jobs.Hot's. Its answer is bounded in bytes too, so it may give fewer
// jobs than wait.
func (s *Set) Take(ctx context.Context, take jobs.Take) ([]*jobs.Held, error) {
	if err := take.Validate(); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(take.Wait)
	// From one call to the next, or a worker whose calls are short would never wait
	// for long.
	pause := max(time.Duration(s.pause.Load()), firstPoll)
	for ; ctx.Err() == nil; pause = min(2*pause, lastPoll) {
		// A call that was sent is waited for, as long as the client's own timeouts
		// are: an answer thrown away leaves leases that nobody holds.
		held, err := s.take(context.WithoutCancel(ctx), take)
		if len(held) > 0 {
			s.pause.Store(0)
			return held, nil
		}
		s.pause.Store(int64(pause))
		if err != nil {
			return nil, unavailable("take jobs", err)
		}
		// The next call's first look is soon enough after the end of this one.
		if rest := time.Until(deadline); !wait(ctx, min(pause, rest)) || rest < pause {
			break
		}
	}
	return nil, nil
}

// wait tells whether there is reason to look again.
func wait(ctx context.Context, pause time.Duration) bool {
	if pause <= 0 {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// take asks once. A take whose answer is lost leaves leases that nobody holds:
// they run out.
func (s *Set) take(ctx context.Context, take jobs.Take) ([]*jobs.Held, error) {
	answer, err := s.run(ctx, s.scripts.take, []any{take.Max, take.MaxSlow, take.Lease.Milliseconds()}).Slice()
	if err != nil {
		return nil, err
	}
	const fields = 5
	if len(answer)%fields != 1 {
		return nil, fmt.Errorf("an answer of %d parts", len(answer))
	}
	token, _ := answer[0].(int64)
	held := make([]*jobs.Held, 0, len(answer)/fields)
	for part := answer[1:]; len(part) > 0; part = part[fields:] {
		h, err := read(part)
		if err != nil {
			return nil, err
		}
		h.Token = token
		held = append(held, h)
	}
	return held, nil
}

// read makes one job of its parts: lane, id, record, charged attempts, superseded.
func read(part []any) (*jobs.Held, error) {
	lane, ok1 := part[0].(string)
	id, ok2 := part[1].(string)
	record, ok3 := part[2].(string)
	attempts, ok4 := part[3].(int64)
	superseded, ok5 := part[4].(int64)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || len(lane) != 1 || len(id) != len(jobs.ID{}) {
		return nil, fmt.Errorf("an answer of other parts")
	}
	h := &jobs.Held{}
	entry, err := jobs.DecodeEntry([]byte(record))
	if err != nil {
		h.Broken = err
		h.Payload = []byte(record)
	} else {
		h.Entry = entry
	}
	// These are the set's own.
	copy(h.ID[:], id)
	h.Lane = laneOf(lane[0])
	h.Attempts += int(attempts)
	h.Superseded = superseded == 1
	h.Cost = jobs.RecordCost(len(record))
	return h, nil
}
