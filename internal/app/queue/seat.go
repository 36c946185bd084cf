package queue

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/memhot"
)

// seat is the hot set in memory while this process has one. Without one it is out
// of reach: what is handed over waits in its row.
type seat struct{ set atomic.Pointer[memhot.Set] }

var _ jobs.Hot = (*seat)(nil)

func (s *seat) take(set *memhot.Set) { s.set.Store(set) }
func (s *seat) leave()               { s.set.Store(nil) }

var errNoSeat = fmt.Errorf("%w: another process runs the jobs", jobs.ErrUnavailable)

// with calls fn with the set, if there is one.
func with[T any](s *seat, none T, fn func(*memhot.Set) (T, error)) (T, error) {
	set := s.set.Load()
	if set == nil {
		return none, errNoSeat
	}
	return fn(set)
}

func (s *seat) do(fn func(*memhot.Set) error) error {
	_, err := with(s, struct{}{}, func(set *memhot.Set) (struct{}, error) { return struct{}{}, fn(set) })
	return err
}

// Add implements jobs.Hot, as all of these do.
func (s *seat) Add(ctx context.Context, add jobs.Add) ([]jobs.Admission, error) {
	return with(s, make([]jobs.Admission, len(add.Entries)), func(set *memhot.Set) ([]jobs.Admission, error) { return set.Add(ctx, add) })
}

func (s *seat) Settle(ctx context.Context, spills []jobs.SpillID) error {
	return s.do(func(set *memhot.Set) error { return set.Settle(ctx, spills) })
}

func (s *seat) Take(ctx context.Context, take jobs.Take) ([]*jobs.Held, error) {
	return with(s, nil, func(set *memhot.Set) ([]*jobs.Held, error) { return set.Take(ctx, take) })
}

func (s *seat) Ack(ctx context.Context, held []*jobs.Held) ([]bool, error) {
	return with(s, make([]bool, len(held)), func(set *memhot.Set) ([]bool, error) { return set.Ack(ctx, held) })
}

func (s *seat) Return(ctx context.Context, returns []jobs.Return) ([]bool, error) {
	return with(s, make([]bool, len(returns)), func(set *memhot.Set) ([]bool, error) { return set.Return(ctx, returns) })
}

func (s *seat) Extend(ctx context.Context, held []*jobs.Held, life time.Duration) ([]jobs.Verdict, error) {
	return with(s, make([]jobs.Verdict, len(held)), func(set *memhot.Set) ([]jobs.Verdict, error) { return set.Extend(ctx, held, life) })
}

func (s *seat) Depth(ctx context.Context) (jobs.Depth, error) {
	return with(s, jobs.Depth{}, func(set *memhot.Set) (jobs.Depth, error) { return set.Depth(ctx) })
}

func (s *seat) Contains(ctx context.Context, ids []jobs.ID) ([]bool, error) {
	return with(s, make([]bool, len(ids)), func(set *memhot.Set) ([]bool, error) { return set.Contains(ctx, ids) })
}

func (s *seat) AwaitRoom(ctx context.Context, lane jobs.Lane) error {
	return s.do(func(set *memhot.Set) error { return set.AwaitRoom(ctx, lane) })
}

func (s *seat) Hold(ctx context.Context, group string, until time.Time) error {
	return s.do(func(set *memhot.Set) error { return set.Hold(ctx, group, until) })
}

func (s *seat) Flags(ctx context.Context) ([]jobs.Flag, error) {
	return with(s, nil, func(set *memhot.Set) ([]jobs.Flag, error) { return set.Flags(ctx) })
}

func (s *seat) Raise(ctx context.Context, scopes []jobs.Scope) error {
	return s.do(func(set *memhot.Set) error { return set.Raise(ctx, scopes) })
}

func (s *seat) Renew(ctx context.Context, flags []jobs.Flag) error {
	return s.do(func(set *memhot.Set) error { return set.Renew(ctx, flags) })
}

func (s *seat) Clear(ctx context.Context, flag jobs.Flag, keep []jobs.Scope) (bool, error) {
	return with(s, false, func(set *memhot.Set) (bool, error) { return set.Clear(ctx, flag, keep) })
}

func (s *seat) Epoch(ctx context.Context) (string, error) {
	return with(s, "", func(set *memhot.Set) (string, error) { return set.Epoch(ctx) })
}

// Close leaves the set to who sits on it.
func (s *seat) Close() error { return nil }
