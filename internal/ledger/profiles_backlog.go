package ledger

import (
	"context"
	"time"

	"github.com/postledger/postledger"
)

// BacklogLimit is how far waiting deliveries are counted.
const BacklogLimit = 10_000

// Backlog is what waits on a profile.
type Backlog struct {
	// Waiting counts queued deliveries, due or not, up to BacklogLimit.
	Waiting int
	// More says that there are more than BacklogLimit.
	More bool
	// OldestDue is the earliest due time of them; zero when none waits.
	OldestDue time.Time
	// Late is how long ago that was, by the ledger's clock; zero when it is
	// still to come.
	Late time.Duration
	// LateBy is the same for each lane.
	LateBy map[postledger.Lane]time.Duration
}

// Backlogs reads what waits on each profile that has something waiting. Its
// cost is one index probe for each (profile, lane, app) that waits, and
// BacklogLimit index entries for each profile.
func (l *Ledger) Backlogs(ctx context.Context) (map[postledger.ID]Backlog, error) {
	return l.backlogs(ctx, time.Now())
}

func (l *Ledger) backlogs(ctx context.Context, at time.Time) (map[postledger.ID]Backlog, error) {
	waits, now, err := l.waits(ctx, at)
	if err != nil {
		return nil, err
	}
	out := map[postledger.ID]Backlog{}
	for _, w := range waits {
		b := out[w.Key.Profile]
		n, due, err := l.count(ctx, w, int64(BacklogLimit+1-b.Waiting), now)
		if err != nil {
			return nil, err
		}
		if !due.Valid {
			continue // it was claimed meanwhile
		}
		b.Waiting += int(n)
		b.More = b.More || b.Waiting > BacklogLimit
		b.Waiting = min(b.Waiting, BacklogLimit)
		late := max(0, time.Duration(now-due.Int64)*time.Microsecond)
		if oldest := fromMicros(due.Int64); b.OldestDue.IsZero() || oldest.Before(b.OldestDue) {
			b.OldestDue, b.Late = oldest, late
		}
		if b.LateBy == nil {
			b.LateBy = map[postledger.Lane]time.Duration{}
		}
		b.LateBy[w.Key.Lane] = max(b.LateBy[w.Key.Lane], late)
		out[w.Key.Profile] = b
	}
	return out, nil
}
