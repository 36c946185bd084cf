package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/blob/s3"
	"github.com/postledger/postledger/internal/ledger"
)

// bucket is a store that may be only one ledger's: what no message of a ledger
// refers to it deletes after two days, and that would be the other's mail. So
// nothing is written, listed or deleted before the place is known to be this
// ledger's. A store that cannot be reached at the start is claimed by the first
// call that reaches it. To read is always allowed.
type bucket struct {
	*s3.Store
	ledger *ledger.Ledger
	turn   chan struct{} // who holds it claims; one place
	ours   atomic.Bool
}

func (b *bucket) claim(ctx context.Context) error {
	if b.ours.Load() {
		return nil
	}
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.ours.Load() {
		return nil
	}
	id, err := b.ledger.LedgerID(ctx)
	if err == nil {
		err = b.Store.Claim(ctx, id.String())
	}
	if err == nil {
		b.ours.Store(true)
	}
	return err
}

// claimTime bounds what a start waits for a store that does not answer.
const claimTime = 2 * time.Second

// claimBlobs refuses to start on another ledger's place. A store that is not
// there does not hold up the start: mail without attachments can go.
func (a *App) claimBlobs(ctx context.Context) error {
	b, ok := a.blobs.(*bucket)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	err := b.claim(ctx)
	if claimed := (*s3.ClaimedError)(nil); errors.As(err, &claimed) {
		return err
	}
	if err != nil {
		a.log.Warn("the attachment store cannot be used yet", slog.Any("error", err))
	}
	return nil
}

// Put implements blob.Store.
func (b *bucket) Put(ctx context.Context, key string, r io.Reader, limit int64) (blob.Info, error) {
	if err := b.claim(ctx); err != nil {
		return blob.Info{}, err
	}
	return b.Store.Put(ctx, key, r, limit)
}

// Delete implements blob.Store.
func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := b.claim(ctx); err != nil {
		return err
	}
	return b.Store.Delete(ctx, key)
}

// List implements blob.Store.
func (b *bucket) List(ctx context.Context, prefix, after string, limit int) ([]blob.Entry, error) {
	if err := b.claim(ctx); err != nil {
		return nil, err
	}
	return b.Store.List(ctx, prefix, after, limit)
}

// Sweep implements blob.Store.
func (b *bucket) Sweep(ctx context.Context, before time.Time) (int, error) {
	if err := b.claim(ctx); err != nil {
		return 0, err
	}
	return b.Store.Sweep(ctx, before)
}

// Check implements blob.Store.
func (b *bucket) Check(ctx context.Context) error {
	if err := b.claim(ctx); err != nil {
		return err
	}
	return b.Store.Check(ctx)
}
