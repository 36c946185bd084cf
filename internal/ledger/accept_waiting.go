package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// CountWaiting counts the queued deliveries of a profile, or of all with the
// zero id, due or not, and no further than upTo. It reads that many entries of
// the due index: callers ask now and then, not for every request.
func (l *Ledger) CountWaiting(ctx context.Context, profile postledger.ID, upTo int64) (int64, error) {
	return l.countWaiting(ctx, profile, upTo, time.Now())
}

func (l *Ledger) countWaiting(ctx context.Context, profile postledger.ID, upTo int64, at time.Time) (int64, error) {
	waits, now, err := l.waits(ctx, at)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, w := range waits {
		if !profile.IsZero() && w.Key.Profile != profile {
			continue
		}
		// What is over the count already is asked for one more, which is as cheap
		// as to leave its trail where a look at it began.
		n, _, err := l.count(ctx, w, max(1, upTo-total), now)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return min(total, upTo), nil
}

// Progress is how far a delivery has come, for those who wait for it.
type Progress struct {
	Status postledger.Status
	Reason postledger.Reason
}

// progressMessages bounds one query of Progress: 1,000 messages have at most
// 50,000 deliveries, 32 bytes each.
const progressMessages = 1000

// Progress reads the state of each delivery of the messages, of at most 1,000.
// A message that is not kept has no entry.
func (l *Ledger) Progress(ctx context.Context, messages []postledger.ID) (map[postledger.ID][]Progress, error) {
	if len(messages) > progressMessages {
		return nil, fmt.Errorf("read progress: %d messages, at most %d at once", len(messages), progressMessages)
	}
	out := make(map[postledger.ID][]Progress, len(messages))
	if len(messages) == 0 {
		return out, nil
	}
	t := l.read()
	where, args := t.anyOf("message_id", messages)
	rows, err := t.query(ctx, `SELECT message_id, status, reason FROM deliveries WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read progress: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id postledger.ID
		var p Progress
		if err := rows.Scan(&id, &p.Status, &p.Reason); err != nil {
			return nil, fmt.Errorf("read progress: %w", err)
		}
		out[id] = append(out[id], p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read progress: %w", err)
	}
	return out, nil
}
