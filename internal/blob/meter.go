package blob

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
)

// Meter reads a blob on its way into a store: it counts and digests what goes
// by and ends with ErrTooLarge at the first byte beyond the limit. Backends put
// it between the caller's reader and their writer.
type Meter struct {
	ctx   context.Context // of the Put it belongs to, and as short-lived
	r     io.Reader
	limit int64
	size  int64
	sum   hash.Hash
	err   error
}

// NewMeter returns a Meter that reads r for the Put of ctx.
func NewMeter(ctx context.Context, r io.Reader, limit int64) *Meter {
	return &Meter{ctx: ctx, r: r, limit: limit, sum: sha256.New()}
}

// Read implements io.Reader.
func (m *Meter) Read(p []byte) (int, error) {
	if m.err != nil {
		return 0, m.err
	}
	if err := m.ctx.Err(); err != nil {
		m.err = err
		return 0, err
	}
	// One byte more than allowed is asked for: only it tells a blob that ends
	// at the limit from one that goes on.
	if left := m.limit - m.size; int64(len(p)) > left && left >= 0 {
		p = p[:min(int64(len(p)), left+1)]
	}
	n, err := m.r.Read(p)
	if m.size += int64(n); m.size > m.limit {
		m.err = ErrTooLarge
		return 0, m.err
	}
	m.sum.Write(p[:n])
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read blob: %w", err)
	}
	m.err = err
	return n, err
}

// Err returns why reading ended before the end, or nil. It tells an error of
// the source from one of the store.
func (m *Meter) Err() error {
	if m.err == io.EOF {
		return nil
	}
	return m.err
}

// Info returns size and digest of what was read.
func (m *Meter) Info() Info {
	return Info{Size: m.size, SHA256: [sha256.Size]byte(m.sum.Sum(nil))}
}
