package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/blob/dir"
	"github.com/postledger/postledger/internal/blob/s3"
	"github.com/postledger/postledger/internal/ledger"
)

// Blobs is an open blob store.
type Blobs interface {
	blob.Store
	Close() error
}

// OpenBlobs opens the configured blob store. A directory is made if a may do
// that; otherwise one that is missing most likely means that another was
// meant. A bucket is never made, and is not asked anything yet; nothing is
// written to it or deleted from it before it is the ledger's own. The caller
// closes the store.
func OpenBlobs(c *config.Config, a Access, version string, l *ledger.Ledger) (Blobs, error) {
	if c.BlobsInS3() {
		place, err := c.S3Store()
		if err != nil {
			return nil, err
		}
		place.Agent, place.Version = "postledger", version
		store, err := s3.Open(place)
		if err != nil {
			return nil, err
		}
		return &bucket{Store: store, ledger: l, turn: make(chan struct{}, 1)}, nil
	}
	if a == Migrated {
		if err := os.MkdirAll(filepath.Dir(c.Blobs), 0o700); err != nil {
			return nil, fmt.Errorf("make data directory: %w", err)
		}
	} else if _, err := os.Stat(c.Blobs); err != nil {
		return nil, fmt.Errorf("open attachments: %w", err)
	}
	return dir.Open(c.Blobs)
}

// StoredBlobs lists what the server's blob store holds, for the books.
func (a *App) StoredBlobs(ctx context.Context, prefix, after string, limit int) ([]ledger.StoredBlob, error) {
	return ListBlobs(a.blobs)(ctx, prefix, after, limit)
}

// ListBlobs lists a blob store as the books ask for it.
func ListBlobs(store blob.Store) ledger.BlobLister {
	return func(ctx context.Context, prefix, after string, limit int) ([]ledger.StoredBlob, error) {
		page, err := store.List(ctx, prefix, after, limit)
		if err != nil {
			return nil, err
		}
		out := make([]ledger.StoredBlob, len(page))
		for i, b := range page {
			out[i] = ledger.StoredBlob{Key: b.Key, Modified: b.Modified}
		}
		return out, nil
	}
}
