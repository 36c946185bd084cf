package ledger

import "context"

// WriteJobs writes jobs and nothing else, and undoes them if fail is not nil.
func (l *Ledger) WriteJobs(ctx context.Context, rows []JobRow, fail error) error {
	return l.write(ctx, func(ctx context.Context, t *tx) error {
		if err := t.queueJobs(ctx, rows); err != nil {
			return err
		}
		return fail
	})
}
