package redishot

import (
	"context"
	"fmt"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Settle is jobs.Hot's.
func (s *Set) Settle(ctx context.Context, spills []jobs.SpillID) error {
	if len(spills) == 0 {
		return nil
	}
	fields := make([]string, len(spills))
	for i := range spills {
		fields[i] = string(spills[i][:])
	}
	if err := s.client.HDel(ctx, s.keys[pendKey], fields...).Err(); err != nil {
		return unavailable("settle spills", err)
	}
	return nil
}

// Flags is jobs.Hot's.
func (s *Set) Flags(ctx context.Context) ([]jobs.Flag, error) {
	rows, err := s.run(ctx, s.scripts.flags, []any{"list"}).Slice()
	if err != nil {
		return nil, unavailable("read flags", err)
	}
	out := make([]jobs.Flag, 0, len(rows))
	for _, row := range rows {
		part, ok := row.([]any)
		if !ok || len(part) != 5 {
			return nil, unavailable("read flags", fmt.Errorf("an answer of other parts"))
		}
		name, _ := part[0].(string)
		number, _ := part[1].(int64)
		since, _ := part[2].(int64)
		spills, _ := part[3].(int64)
		pending, _ := part[4].(int64)
		if name == "" {
			return nil, unavailable("read flags", fmt.Errorf("a flag without a scope"))
		}
		out = append(out, jobs.Flag{
			Scope:  jobs.Scope{Lane: laneOf(name[0]), Group: name[1:]},
			Number: number, Since: time.UnixMilli(since).UTC(), Spills: spills, Pending: int(pending),
		})
	}
	return out, nil
}

// Raise is jobs.Hot's.
func (s *Set) Raise(ctx context.Context, scopes []jobs.Scope) error {
	args := []any{"raise"}
	for _, scope := range scopes {
		args = append(args, scopeKey(scope))
	}
	return s.change(ctx, "raise flags", args)
}

// Renew is jobs.Hot's.
func (s *Set) Renew(ctx context.Context, flags []jobs.Flag) error {
	args := []any{"renew"}
	for _, f := range flags {
		args = append(args, scopeKey(f.Scope), f.Number)
	}
	return s.change(ctx, "renew flags", args)
}

// Hold is jobs.Hot's.
func (s *Set) Hold(ctx context.Context, group string, until time.Time) error {
	return s.change(ctx, "hold a group", []any{"hold", group, max(time.Until(until), 0).Milliseconds()})
}

func (s *Set) change(ctx context.Context, doing string, args []any) error {
	if err := s.run(ctx, s.scripts.flags, args).Err(); err != nil {
		return unavailable(doing, err)
	}
	return nil
}

// Clear is jobs.Hot's.
func (s *Set) Clear(ctx context.Context, flag jobs.Flag, keep []jobs.Scope) (bool, error) {
	if flag.Pending > 0 {
		return false, nil
	}
	args := []any{"clear", scopeKey(flag.Scope), flag.Number, flag.Spills}
	for _, scope := range keep {
		args = append(args, scopeKey(scope))
	}
	down, err := s.run(ctx, s.scripts.flags, args).Int()
	if err != nil {
		return false, unavailable("clear a flag", err)
	}
	return down == 1, nil
}
