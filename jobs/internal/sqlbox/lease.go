package sqlbox

import (
	"context"
	"fmt"
	"time"
)

// AcquireLease implements jobs.Leases.
func (b *Box) AcquireLease(ctx context.Context, name, owner string, life time.Duration) (fence int64, ok bool, err error) {
	err = b.write(ctx, "acquire lease", func(s *session) error {
		if _, err := s.exec(b.d.AcquireLease(), name, owner, life.Microseconds()); err != nil {
			return err
		}
		var holder string
		if err := s.one("SELECT owner, fence FROM job_leases WHERE name = ?", []any{name}, &holder, &fence); err != nil {
			return fmt.Errorf("read the holder: %w", err)
		}
		ok = holder == owner
		return nil
	})
	if err != nil || !ok {
		return 0, false, err
	}
	return fence, true, nil
}

// ReleaseLease implements jobs.Leases. The row stays, for its fence.
func (b *Box) ReleaseLease(ctx context.Context, name, owner string) error {
	_, err := b.some(ctx, "release lease", "UPDATE job_leases SET owner = '', until = 0 WHERE name = ? AND owner = ?", name, owner)
	return err
}
