package ledger

import "context"

// Careless writes a setting in a transaction whose first batch fails before it
// has begun, and overlooks that.
func (l *Ledger) Careless(ctx context.Context, name string) error {
	return l.write(ctx, func(ctx context.Context, t *tx) error {
		t.queue("insert nothing", nil, `INSERT INTO no_such_table VALUES (1)`)
		_ = t.flush(ctx)
		_, _ = t.exec(ctx, `INSERT INTO settings (name, value) VALUES (?, '1')`, name)
		return nil
	})
}

// Panics writes a setting and does not come back.
func (l *Ledger) Panics(ctx context.Context, name string) error {
	return l.write(ctx, func(ctx context.Context, t *tx) error {
		if _, err := t.exec(ctx, `INSERT INTO settings (name, value) VALUES (?, '1')`, name); err != nil {
			return err
		}
		panic(name)
	})
}

// Shows is a setting of the connections that write.
func (l *Ledger) Shows(ctx context.Context, setting string) (value string, err error) {
	err = l.db.QueryRowContext(ctx, `SHOW `+setting).Scan(&value)
	return value, err
}
