package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// NotYetDue says of those deliveries whose message has a time to be sent at
// that lies ahead how long it is until then. A row that is not queued has no due
// time of its own: what queues it again asks here, or it would leave early.
func (l *Ledger) NotYetDue(ctx context.Context, ids []postledger.ID) (map[postledger.ID]time.Duration, error) {
	t := l.read()
	now, err := t.nowMicros(ctx)
	if err != nil {
		return nil, err
	}
	out := map[postledger.ID]time.Duration{}
	where, args := t.anyOf("d.id", ids)
	err = t.each(ctx, func(rows *sql.Rows) error {
		var id postledger.ID
		var at int64
		err := rows.Scan(&id, &at)
		out[id] = time.Duration(at-now) * time.Microsecond
		return err
	}, `SELECT d.id, m.send_at FROM deliveries d JOIN messages m ON m.id = d.message_id
		WHERE `+where+` AND m.send_at > ?`, append(args, now)...)
	if err != nil {
		return nil, fmt.Errorf("read times of messages: %w", err)
	}
	return out, nil
}
