package ledger

import "context"

// ExecRaw runs one statement, so that tests can break what the ledger never would.
func (l *Ledger) ExecRaw(ctx context.Context, query string, args ...any) (int64, error) {
	var n int64
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		var err error
		n, err = t.exec(ctx, query, args...)
		return err
	})
	return n, err
}
