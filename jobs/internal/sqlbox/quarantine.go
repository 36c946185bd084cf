package sqlbox

import (
	"context"

	"github.com/postledger/postledger/jobs"
)

// Refuse implements jobs.OutboxQuarantine. The count comes last: MySQL shows
// later assignments what earlier ones have made of a column.
func (b *Box) Refuse(ctx context.Context, refs []jobs.Ref, reason string, limit int) error {
	now := b.d.Now()
	_, err := b.refs(ctx, "refuse jobs", `UPDATE job_outbox SET
		changed_at = CASE WHEN refused + 1 >= ? THEN `+now+` ELSE changed_at END,
		state = CASE WHEN refused + 1 >= ? THEN 3 ELSE state END,
		reason = ?, refused = refused + 1
		WHERE %s AND state + 0 IN (0, 1)`, []any{limit, limit, reasonText(reason)}, refs)
	return err
}

// Quarantine implements jobs.OutboxQuarantine.
func (b *Box) Quarantine(ctx context.Context, ids []jobs.ID, reason string) (n int, err error) {
	err = b.write(ctx, "quarantine jobs", func(s *session) (err error) {
		n, err = s.byIDs("UPDATE job_outbox SET state = 3, reason = ?, changed_at = "+b.d.Now()+" WHERE %s AND state <> 3",
			[]any{reasonText(reason)}, ids)
		return err
	})
	return n, err
}

// Hurry implements jobs.OutboxQuarantine.
func (b *Box) Hurry(ctx context.Context, ids []jobs.ID) (n int, err error) {
	now := b.d.Now()
	err = b.write(ctx, "hurry jobs", func(s *session) (err error) {
		n, err = s.byIDs("UPDATE job_outbox SET state = 0, run_at = "+now+", changed_at = "+now+" WHERE %s AND state + 0 = 1", nil, ids)
		return err
	})
	return n, err
}
