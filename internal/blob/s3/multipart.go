package s3

import (
	"bytes"
	"context"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/postledger/postledger/internal/blob"
)

// abortLimit bounds the clean-up after a failure. What it leaves is swept.
const abortLimit = 10 * time.Second

// inParts writes a blob whose first part fills room and whose rest is in m. No
// object exists before the last request, and none after a failure.
func (w *write) inParts(ctx context.Context, room []byte, m *blob.Meter) (err error) {
	s := w.store
	if err := w.free(ctx); err != nil {
		return err
	}
	var upload string
	if err := call(ctx, callLimit, func(ctx context.Context) error {
		var err error
		upload, err = s.core.NewMultipartUpload(ctx, s.bucket, w.name, w.options())
		return err
	}); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.abort(ctx, upload)
		}
	}()
	var done []minio.CompletePart
	for n, end := len(room), false; n > 0; {
		part, err := w.part(ctx, upload, len(done)+1, room[:n])
		if err != nil {
			return err
		}
		done = append(done, part)
		if end {
			break
		}
		if n, end, err = fill(m, room); err != nil {
			return err
		}
	}
	return w.complete(ctx, upload, done)
}

// free refuses a name that is taken before its content is sent: some stores
// look at the condition of a multipart upload at its end, others never.
func (w *write) free(ctx context.Context) error {
	err := call(ctx, callLimit, func(ctx context.Context) error {
		_, err := w.store.core.StatObject(ctx, w.store.bucket, w.name, minio.StatObjectOptions{})
		return err
	})
	switch {
	case err == nil:
		return blob.ErrExists
	case code(err) == minio.NoSuchKey:
		return nil
	default:
		return err
	}
}

func (w *write) part(ctx context.Context, upload string, number int, content []byte) (minio.CompletePart, error) {
	var p minio.ObjectPart
	err := call(ctx, partLimit, func(ctx context.Context) error {
		var err error
		p, err = w.store.core.PutObjectPart(ctx, w.store.bucket, w.name, upload, number, bytes.NewReader(content), int64(len(content)),
			minio.PutObjectPartOptions{Sha256Hex: digest(content), DisableContentSha256: true})
		return err
	})
	return minio.CompletePart{PartNumber: number, ETag: p.ETag}, err
}

// complete makes the parts an object. Its answer may be lost, and a second try
// then hears that there is no such upload, or that the name is taken.
func (w *write) complete(ctx context.Context, upload string, done []minio.CompletePart) error {
	var o minio.PutObjectOptions
	o.SetMatchETagExcept("*")
	err := call(ctx, partLimit, func(ctx context.Context) error {
		_, err := w.store.core.CompleteMultipartUpload(ctx, w.store.bucket, w.name, upload, done, o)
		return err
	})
	switch {
	case taken(err):
		return w.own(ctx, blob.ErrExists)
	case code(err) == minio.NoSuchUpload:
		return w.own(ctx, err)
	default:
		return err
	}
}

// abort goes on when the caller's context has ended.
func (w *write) abort(ctx context.Context, upload string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimit)
	defer cancel()
	_ = w.store.abort(ctx, w.name, upload) // the caller hears why the upload failed
}
