package ledger

import (
	"context"
	"database/sql"
	"fmt"
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
}

// Backlogs reads what waits on each profile that has something waiting. Its
// cost is one index probe for each (profile, lane, app) that waits, and
// BacklogLimit index entries for each profile.
func (l *Ledger) Backlogs(ctx context.Context) (map[postledger.ID]Backlog, error) {
	keys, err := l.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	t := l.read()
	now, err := t.nowMicros(ctx)
	if err != nil {
		return nil, err
	}
	out := map[postledger.ID]Backlog{}
	for _, k := range keys {
		b, seen := out[k.Profile]
		if !seen {
			if err := t.row(ctx, []any{&b.Waiting}, `SELECT count(*) FROM (
				SELECT 1 FROM deliveries WHERE profile_id = ? AND due_at IS NOT NULL LIMIT ?) d`, k.Profile, BacklogLimit+1); err != nil {
				return nil, fmt.Errorf("count waiting deliveries: %w", err)
			}
			b.More = b.Waiting > BacklogLimit
			b.Waiting = min(b.Waiting, BacklogLimit)
		}
		var due sql.NullInt64
		if err := t.row(ctx, []any{&due}, `SELECT min(due_at) FROM deliveries
			WHERE profile_id = ? AND lane = ? AND app_id = ? AND due_at IS NOT NULL`, k.Profile, string(k.Lane), k.App); err != nil {
			return nil, fmt.Errorf("read next due: %w", err)
		}
		if at := fromMicros(due.Int64); due.Valid && (b.OldestDue.IsZero() || at.Before(b.OldestDue)) {
			b.OldestDue = at
			b.Late = max(0, time.Duration(now-due.Int64)*time.Microsecond)
		}
		out[k.Profile] = b
	}
	return out, nil
}
