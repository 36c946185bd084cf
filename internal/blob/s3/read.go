package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/postledger/postledger/internal/blob"
)

const (
	// stallLimit is how long a body that is read may stand still.
	stallLimit = 30 * time.Second
	// resumes is how often a reader that was cut asks for the rest.
	resumes = 5
)

// errReplaced: what is read has been replaced by something else.
var errReplaced = errors.New("the object is another one by now")

// Open implements [blob.Store].
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	name, err := s.name(key)
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, store: s, name: name}
	if err := r.open(); err != nil {
		if code(err) == minio.NoSuchKey {
			err = s.missing(ctx, name, err)
		}
		if errors.Is(err, blob.ErrNotFound) {
			return nil, err
		}
		return nil, fmt.Errorf("open blob: %w", err)
	}
	return r, nil
}

// missing decides whether there really is no object, on which a message fails
// for good. A 404 alone proves nothing: a proxy or another server at the
// store's address says it too. A listing has to be the store's.
func (s *Store) missing(ctx context.Context, name string, notFound error) error {
	there := false
	err := call(ctx, callLimit, func(ctx context.Context) error {
		there = false
		for o := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: name, MaxKeys: 1}) {
			if o.Err != nil {
				return o.Err
			}
			there = there || o.Key == name
			break
		}
		return ctx.Err()
	})
	switch {
	case err != nil:
		return err
	case there:
		return notFound
	default:
		return blob.ErrNotFound
	}
}

// reader is the content of an object. It belongs to one goroutine.
type reader struct {
	ctx   context.Context // of the Open, whose caller reads
	store *Store
	name  string
	etag  string
	size  int64
	at    int64
	cuts  int

	body   io.ReadCloser
	cancel context.CancelFunc // of the body's request
}

// open asks for the object, or for what has not been read of it.
func (r *reader) open() error {
	var o minio.GetObjectOptions
	if r.at > 0 {
		// Not of another object that has the name by now. Stores that do not
		// know the condition still say whose the bytes are.
		if err := errors.Join(o.SetRange(r.at, r.size-1), o.SetMatchETag(r.etag)); err != nil {
			return err
		}
	}
	// The answer is bounded, the body's reading is not: it ends with the
	// reader, or when it stalls.
	return call(r.ctx, callLimit, func(ctx context.Context) error {
		request, cancel := context.WithCancel(r.ctx)
		stop := context.AfterFunc(ctx, cancel)
		body, info, _, err := r.store.core.GetObject(request, r.store.bucket, r.name, o)
		if err != nil {
			stop()
			cancel()
			return err
		}
		if !stop() {
			cancel()
			return errors.Join(ctx.Err(), body.Close())
		}
		if r.at == 0 {
			r.size, r.etag = info.Size, info.ETag
		} else if info.ETag != r.etag {
			cancel()
			return errors.Join(errReplaced, body.Close())
		}
		r.body, r.cancel = body, cancel
		return nil
	})
}

// Read implements io.Reader. An error is never a bare io.ErrUnexpectedEOF,
// which callers take for the end of the content.
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if r.body == nil {
			if err := r.open(); err != nil {
				return 0, fmt.Errorf("read blob: %w", err)
			}
		}
		n, err := r.step(p)
		r.at += int64(n)
		switch {
		case n > 0:
			return n, nil
		case errors.Is(err, io.EOF) && (r.at == r.size || r.size < 0):
			return 0, io.EOF
		case err == nil:
			continue
		}
		r.drop()
		if r.ctx.Err() != nil {
			return 0, r.ctx.Err()
		}
		if r.cuts++; r.cuts > resumes || r.size < 0 {
			return 0, fmt.Errorf("read blob: cut after %d of %d bytes: %w", r.at, r.size, err)
		}
		if err := pause(r.ctx, 1); err != nil {
			return 0, err
		}
	}
}

// step reads from the body and gives it up when it stands still.
func (r *reader) step(p []byte) (int, error) {
	stalled := time.AfterFunc(stallLimit, r.cancel)
	n, err := r.body.Read(p)
	if !stalled.Stop() && n == 0 {
		return 0, errSlow
	}
	return n, err
}

func (r *reader) drop() {
	if r.body != nil {
		r.cancel()
		_ = r.body.Close() // of what is not read to its end
		r.body = nil
	}
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.drop()
	r.cuts = resumes // a Read after it fails
	return nil
}

// Delete implements [blob.Store].
func (s *Store) Delete(ctx context.Context, key string) error {
	name, err := s.name(key)
	if err != nil {
		return err
	}
	if err := s.remove(ctx, name); err != nil {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}

// remove succeeds when there is nothing.
func (s *Store) remove(ctx context.Context, name string) error {
	err := call(ctx, callLimit, func(ctx context.Context) error {
		return s.core.RemoveObject(ctx, s.bucket, name, minio.RemoveObjectOptions{})
	})
	if code(err) == minio.NoSuchKey {
		return nil
	}
	return err
}
