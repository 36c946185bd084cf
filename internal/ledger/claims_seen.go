package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"sync"
	"time"
)

// claimsSeen remembers how far this process's claims have come on each key, for
// those who look at what waits and claim nothing: the metrics, lists of profiles,
// the bounds of a backlog. Without it each of their looks would walk over all
// that was drained since an old snapshot, as a claim's would (see [Trail]).
// SQLite keeps no dead entries: nothing is noted there.
type claimsSeen struct {
	mu     sync.Mutex
	trails map[ClaimKey]*Trail
}

// maxSeen bounds the map: a key is a profile's, a lane's and an app's, and there
// are not nearly as many that send. To forget costs one look from the start.
const maxSeen = 10_000

// note keeps how far a lease came.
func (s *claimsSeen) note(wants []Want, out []Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range out {
		if len(out[i].Leased) == 0 {
			continue
		}
		t := s.trails[wants[i].Key]
		if t == nil {
			if len(s.trails) >= maxSeen || s.trails == nil {
				s.trails = map[ClaimKey]*Trail{}
			}
			t = &Trail{}
			s.trails[wants[i].Key] = t
		}
		t.Seen(len(out[i].Leased), out[i].After)
	}
}

// passed is what a look need not walk over.
func (s *claimsSeen) passed(at time.Time) []Passed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return PassedBy(maps.All(s.trails), at)
}

// came tells a key's trail what a look came to: the earliest due time of what
// waits, or none.
func (s *claimsSeen) came(k ClaimKey, due sql.NullInt64, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.trails[k]
	switch {
	case t == nil:
		return
	case due.Valid:
		t.Found(Cursor{Due: due.Int64})
	default:
		t.Nothing()
	}
	t.Clock(now)
}

// waits are the keys under which something is queued and where to look for it,
// as a look at a moment of the process finds them, and the ledger's clock.
func (l *Ledger) waits(ctx context.Context, at time.Time) ([]Passed, int64, error) {
	passed := l.seen.passed(at)
	w, err := l.WaitingBeyond(ctx, passed)
	if err != nil {
		return nil, 0, err
	}
	after := make(map[ClaimKey]Cursor, len(passed))
	for _, p := range passed {
		after[p.Key] = p.After
	}
	out := make([]Passed, len(w.Keys))
	for i, k := range w.Keys {
		out[i] = Passed{k, after[k]}
		delete(after, k)
	}
	for k := range after {
		l.seen.came(k, sql.NullInt64{}, w.Now)
	}
	return out, w.Now, nil
}

// count counts what waits under a key beyond a cursor, due or not and up to a
// limit, and reads the earliest due time of it.
func (l *Ledger) count(ctx context.Context, p Passed, limit, now int64) (n int64, due sql.NullInt64, err error) {
	err = l.read().row(ctx, []any{&n, &due}, `SELECT count(*), min(due_at) FROM (
		SELECT due_at FROM deliveries WHERE profile_id = ? AND lane = ? AND app_id = ?
			AND due_at IS NOT NULL AND (due_at, id) > (?, ?)
		ORDER BY due_at, id LIMIT ?) d`, p.Key.Profile, string(p.Key.Lane), p.Key.App, p.After.Due, p.After.ID[:], limit)
	if err != nil {
		return 0, due, fmt.Errorf("count waiting deliveries: %w", err)
	}
	l.seen.came(p.Key, due, now)
	return n, due, nil
}
