package s3

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/postledger/postledger/internal/blob"
)

const (
	// listLimit bounds a try of a page, which may be several requests where
	// other objects lie between ours.
	listLimit = time.Minute
	// pageSize is the most that stores list at a time.
	pageSize = 1000
)

// List implements [blob.Store]. What is not a blob's object is left out.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]blob.Entry, error) {
	if _, _, err := blob.SplitPrefix(prefix); err != nil {
		return nil, err
	}
	if limit <= 0 {
		return nil, ctx.Err()
	}
	var page []blob.Entry
	err := call(ctx, listLimit, func(ctx context.Context) error {
		page = nil
		return s.objects(ctx, prefix, after, min(limit, pageSize), func(o *minio.ObjectInfo, key string) bool {
			if _, _, _, err := blob.SplitKey(key); err == nil && key > after {
				page = append(page, blob.Entry{Key: key, Size: o.Size, Modified: o.LastModified})
			}
			return len(page) < limit
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list blobs: %w", err)
	}
	return page, nil
}

// objects calls each for the objects below a prefix, in the order of their
// names, until it returns false.
func (s *Store) objects(ctx context.Context, prefix, after string, ask int, each func(o *minio.ObjectInfo, key string) bool) error {
	noOwner := false
	o := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true, MaxKeys: ask, FetchOwner: &noOwner}
	if after != "" {
		o.StartAfter = s.prefix + after
	}
	for info := range s.core.ListObjectsIter(ctx, s.bucket, o) {
		if info.Err != nil {
			return info.Err
		}
		if key, ok := strings.CutPrefix(info.Key, s.prefix); ok && !each(&info, key) {
			return nil
		}
	}
	// A context that ended ends the listing without a word.
	return ctx.Err()
}
