package jobs

import (
	"context"
	"slices"
)

// turns are a lane's scopes with rows, taken in turn: the plain rows, and the
// groups from where the last pass ended. Groups are read a page at a time; only
// those of one page take turns at once.
type turns struct {
	lane  Lane
	ring  []Scope
	at    int
	last  string // the last group that was read
	first string // where the reading began; it ends when it comes round
	round bool   // it has come round to the first names
	ended bool
	kept  []Scope // with rows that may not be admitted now
	// after is the last place of a scope that this pass has seen; stayed are the
	// scopes with rows before it that were not admitted.
	after  map[Scope]int64
	stayed map[Scope]bool
}

// groupPage is how many groups take turns at once.
const groupPage = 100

func (p *pass) turns(ctx context.Context, lane Lane) (*turns, error) {
	t := &turns{lane: lane, first: p.cursor[lane], last: p.cursor[lane], after: map[Scope]int64{}, stayed: map[Scope]bool{}}
	plain := Scope{Lane: lane}
	rows, err := p.outbox.Waiting(ctx, Page{Scope: plain, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(rows) > 0 {
		t.ring = append(t.ring, plain)
	}
	return t, p.more(ctx, t)
}

// more reads the next groups when those that had their turns have no more rows
// that may be admitted.
func (p *pass) more(ctx context.Context, t *turns) error {
	for !t.ended && !slices.ContainsFunc(t.ring, func(s Scope) bool { return s.Group != "" }) {
		groups, err := p.outbox.WaitingGroups(ctx, t.lane, t.last, groupPage)
		if err != nil {
			return err
		}
		for _, group := range groups {
			if t.round && group > t.first {
				t.ended = true
				break
			}
			t.ring = append(t.ring, Scope{Lane: t.lane, Group: group})
			t.last = group
		}
		p.cursor[t.lane] = t.last
		switch {
		case t.ended || len(groups) == groupPage:
		case t.round || t.first == "":
			t.ended = true
		default:
			t.round, t.last = true, ""
		}
	}
	return nil
}

func (t *turns) empty() bool { return len(t.ring) == 0 }

func (t *turns) next() Scope {
	t.at %= len(t.ring)
	scope := t.ring[t.at]
	t.at++
	return scope
}

func (t *turns) done(scope Scope) {
	n := slices.Index(t.ring, scope)
	t.ring = slices.Delete(t.ring, n, n+1)
	if n < t.at {
		t.at--
	}
}

func (t *turns) withheld(scope Scope) {
	t.done(scope)
	t.kept = append(t.kept, scope)
}
