package app

import (
	"context"

	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/ledger"
)

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
