package audience

import "context"

// Distinct is distinct, for tests of its bounds.
type Distinct struct{ d *distinct }

// NewDistinct makes one with a small buffer.
func NewDistinct(dir string, most int) Distinct { return Distinct{newDistinct(dir, most)} }

// Add adds an address.
func (d Distinct) Add(ctx context.Context, folded string, suppressed bool) error {
	return d.d.add(ctx, folded, suppressed)
}

// Total counts.
func (d Distinct) Total(ctx context.Context) (all, suppressed int64, err error) {
	return d.d.total(ctx)
}

// Close ends it.
func (d Distinct) Close() error { return d.d.close() }
