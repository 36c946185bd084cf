package s3

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/postledger/postledger/internal/blob"
)

// Sweep implements [blob.Store]: it aborts multipart uploads that were begun
// before the given moment, and removes what Check left then. Uploads of names
// that are no blob's are somebody else's.
func (s *Store) Sweep(ctx context.Context, before time.Time) (int, error) {
	uploads, err := s.sweepUploads(ctx, before)
	if err != nil {
		return uploads, fmt.Errorf("sweep unfinished uploads: %w", err)
	}
	probes, err := s.sweepProbes(ctx, before)
	if err != nil {
		return uploads + probes, fmt.Errorf("sweep probes: %w", err)
	}
	return uploads + probes, nil
}

func (s *Store) sweepUploads(ctx context.Context, before time.Time) (int, error) {
	removed := 0
	var keyMark, idMark string
	for {
		var page minio.ListMultipartUploadsResult
		if err := call(ctx, listLimit, func(ctx context.Context) error {
			var err error
			page, err = s.core.ListMultipartUploads(ctx, s.bucket, s.prefix, keyMark, idMark, "", pageSize)
			return err
		}); err != nil {
			if code(err) == minio.NoSuchUpload {
				return removed, nil // how some stores say that there is none
			}
			return removed, err
		}
		for i := range page.Uploads {
			u := &page.Uploads[i]
			key, ours := strings.CutPrefix(u.Key, s.prefix)
			if _, _, _, err := blob.SplitKey(key); err != nil || !ours || !u.Initiated.Before(before) {
				continue
			}
			if err := s.abort(ctx, u.Key, u.UploadID); err != nil {
				return removed, err
			}
			removed++
		}
		if !page.IsTruncated || page.NextKeyMarker == keyMark && page.NextUploadIDMarker == idMark {
			return removed, nil
		}
		keyMark, idMark = page.NextKeyMarker, page.NextUploadIDMarker
	}
}

// abort gives up an upload, so that its parts do not stay and cost. One that
// is gone is none.
func (s *Store) abort(ctx context.Context, name, upload string) error {
	err := call(ctx, callLimit, func(ctx context.Context) error {
		return s.core.AbortMultipartUpload(ctx, s.bucket, name, upload)
	})
	if code(err) == minio.NoSuchUpload {
		return nil
	}
	return err
}

func (s *Store) sweepProbes(ctx context.Context, before time.Time) (int, error) {
	removed := 0
	for {
		var old []string
		if err := call(ctx, listLimit, func(ctx context.Context) error {
			old = nil
			return s.objects(ctx, probePrefix, "", pageSize, func(o *minio.ObjectInfo, key string) bool {
				if o.LastModified.Before(before) {
					old = append(old, key)
				}
				return len(old) < pageSize
			})
		}); err != nil {
			return removed, err
		}
		for _, key := range old {
			if err := s.remove(ctx, s.prefix+key); err != nil {
				return removed, err
			}
			removed++
		}
		if len(old) < pageSize {
			return removed, nil
		}
	}
}
