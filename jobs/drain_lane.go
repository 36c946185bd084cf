package jobs

import (
	"context"
	"fmt"
	"slices"
)

// laneEnd is how a lane's part of a pass ended.
type laneEnd struct {
	moved int  // rows
	left  bool // rows wait that are due
	full  bool // the lane has no room
}

// lane drains one lane: its plain rows and its groups in turn, a chunk each, until
// it is full or no row is left that may be admitted. Then its flags go down.
func (p *pass) lane(ctx context.Context, lane Lane) (laneEnd, error) {
	// Before any row is read: what is spilled after this changes the flags.
	flags, err := p.flags(ctx, lane)
	if err != nil {
		return laneEnd{}, err
	}
	depth, err := p.hot.Depth(ctx)
	if err != nil {
		return laneEnd{}, fmt.Errorf("look at the hot set: %w", err)
	}
	turn, err := p.turns(ctx, lane)
	if err != nil {
		return laneEnd{}, err
	}
	var end laneEnd
	if turn.empty() {
		return end, p.clear(ctx, flags, nil)
	}
	end.left = true
	if err := p.hold(ctx, turn, flags); err != nil {
		return end, err
	}
	if !depth.Of(lane).Below {
		end.full = true
		return end, nil
	}
	for !turn.empty() {
		scope := turn.next()
		state, err := p.scope(ctx, scope, turn)
		if err != nil {
			return end, err
		}
		end.moved += state.moved
		switch {
		case state.full:
			end.full = true
			return end, nil
		case state.withheld:
			turn.withheld(scope)
		case state.done:
			turn.done(scope)
		}
		if err := p.tend(ctx); err != nil {
			return end, err
		}
		if turn.empty() {
			if err := p.more(ctx, turn); err != nil {
				return end, err
			}
		}
	}
	keep := turn.kept
	if len(keep) == 0 {
		end.left = false
	}
	return end, p.clear(ctx, flags, keep)
}

// flags are a lane's.
func (p *pass) flags(ctx context.Context, lane Lane) ([]Flag, error) {
	all, err := p.hot.Flags(ctx)
	if err != nil {
		return nil, fmt.Errorf("read flags: %w", err)
	}
	return slices.DeleteFunc(all, func(f Flag) bool { return f.Lane != lane }), nil
}

// hold raises the flags of rows that wait while they are down: the hot set lost
// them, or they expired. Fresh jobs must not overtake.
func (p *pass) hold(ctx context.Context, t *turns, flags []Flag) error {
	up := map[Scope]bool{}
	for _, flag := range flags {
		up[flag.Scope] = true
	}
	if up[Scope{Lane: t.lane}] {
		return nil // it holds the groups as well
	}
	down := slices.DeleteFunc(slices.Clone(t.ring), func(s Scope) bool { return up[s] })
	if len(down) == 0 {
		return nil
	}
	if err := p.hot.Raise(ctx, down); err != nil {
		return fmt.Errorf("raise flags: %w", err)
	}
	return nil
}

// clear takes flags down whose rows are all in the hot set. The lane's keeps the
// groups that have rows still. It is refused when something was spilled since the
// flags were read, or is being spilled: then the next pass has them.
func (p *pass) clear(ctx context.Context, flags []Flag, keep []Scope) error {
	for _, flag := range flags {
		// Its own rows wait. (A lane's are jobs with a dedupe key whose older job is
		// hot: a newer one must not pass them.)
		if slices.Contains(keep, flag.Scope) {
			continue
		}
		var kept []Scope
		if flag.Group == "" {
			kept = keep
		}
		if _, err := p.hot.Clear(ctx, flag, kept); err != nil {
			return fmt.Errorf("clear a flag: %w", err)
		}
	}
	return nil
}
