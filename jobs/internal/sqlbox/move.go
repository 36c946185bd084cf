package sqlbox

import (
	"context"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Ripen implements jobs.OutboxRows.
func (b *Box) Ripen(ctx context.Context, limit int) (int, error) {
	return b.some(ctx, "ripen jobs", b.d.UpdateSome(
		"state = 0, changed_at = "+b.d.Now(), "state = 1 AND run_at <= "+b.d.Now(), "run_at"), limit)
}

// some runs a statement that changes at most so many rows.
func (b *Box) some(ctx context.Context, doing, statement string, args ...any) (n int, err error) {
	err = b.single(ctx, doing, func(s *session) (err error) {
		n, err = s.exec(statement, args...)
		return err
	})
	return n, err
}

// RemoveRefs is the statement of Remove; %s is the condition on (id, rev).
const RemoveRefs = `DELETE FROM job_outbox WHERE %s`

// AdmitRefs is the statement of Admit: the epoch; %s is the condition. Here as wherever
// rows are changed by their refs, "state + 0" is no condition of an index: all of these
// find, and so lock, their rows in one order, whatever a table's statistics say.
func AdmitRefs(d Dialect) string {
	return "UPDATE job_outbox SET state = 2, epoch = ?, changed_at = " + d.Now() + " WHERE %s AND state + 0 IN (0, 1)"
}

// Admit implements jobs.OutboxRows.
func (b *Box) Admit(ctx context.Context, epoch string, refs []jobs.Ref) (int, error) {
	return b.refs(ctx, "admit jobs", AdmitRefs(b.d), []any{epoch}, refs)
}

// Remove implements jobs.OutboxRows.
func (b *Box) Remove(ctx context.Context, refs []jobs.Ref) (int, error) {
	return b.refs(ctx, "remove jobs", RemoveRefs, nil, refs)
}

func (b *Box) refs(ctx context.Context, doing, statement string, before []any, refs []jobs.Ref) (n int, err error) {
	if len(refs) == 0 {
		return 0, nil
	}
	refs = inOrder(refs)
	write := b.write
	if len(refs) <= chunk {
		write = b.single
	}
	err = write(ctx, doing, func(s *session) (err error) {
		n, err = s.byRefs(statement, before, refs)
		return err
	})
	return n, err
}

// PruneQuarantined implements jobs.OutboxQuarantine.
func (b *Box) PruneQuarantined(ctx context.Context, age time.Duration, limit int) (int, error) {
	return b.some(ctx, "prune quarantined jobs", b.d.DeleteSome(
		"state = 3 AND changed_at <= "+b.d.Now()+" - ?", "changed_at"), age.Microseconds(), limit)
}
