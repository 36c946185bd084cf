package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/postledger/postledger/internal/blob"
)

// writerKey is the metadata that names the Put an object was written by.
const writerKey = "Postledger-Put"

// Put implements [blob.Store].
func (s *Store) Put(ctx context.Context, key string, r io.Reader, limit int64) (blob.Info, error) {
	name, err := s.name(key)
	if err != nil {
		return blob.Info{}, err
	}
	m := blob.NewMeter(ctx, r, limit)
	if err := s.put(ctx, name, m); err != nil {
		if m.Err() != nil {
			return blob.Info{}, m.Err()
		}
		return blob.Info{}, fmt.Errorf("store blob: %w", err)
	}
	s.health.good()
	return m.Info(), nil
}

func (s *Store) put(ctx context.Context, name string, m *blob.Meter) (err error) {
	small := make([]byte, smallSize)
	n, end, err := fill(m, small)
	if err != nil {
		return err
	}
	w := write{store: s, name: name, writer: rand.Text()}
	if end {
		return w.whole(ctx, small[:n])
	}
	room, err := s.parts.take(ctx)
	if err != nil {
		return err
	}
	defer func() { s.parts.give(room, err != nil) }()
	copy(room, small)
	more, end, err := fill(m, room[n:])
	switch {
	case err != nil:
		return err
	case end:
		return w.whole(ctx, room[:n+more])
	default:
		return w.inParts(ctx, room, m)
	}
}

// write is one Put of one object.
type write struct {
	store  *Store
	name   string
	writer string
}

func (w *write) options() minio.PutObjectOptions {
	return minio.PutObjectOptions{
		UserMetadata: map[string]string{writerKey: w.writer},
		// Each body's own digest is signed and checked by the store. The
		// library's other ways (chunks signed one by one, trailing checksums)
		// are not understood by every store.
		DisableContentSha256: true,
	}
}

// whole writes a blob with a single request.
func (w *write) whole(ctx context.Context, content []byte) error {
	o := w.options()
	o.SetMatchETagExcept("*")
	err := call(ctx, partLimit, func(ctx context.Context) error {
		_, err := w.store.core.PutObject(ctx, w.store.bucket, w.name, bytes.NewReader(content), int64(len(content)), "", digest(content), o)
		return err
	})
	if taken(err) {
		return w.own(ctx, blob.ErrExists)
	}
	return err
}

// own decides about a request that was refused because the object is there:
// after a lost answer, the library's second try meets what the first one wrote.
func (w *write) own(ctx context.Context, otherwise error) error {
	var o minio.ObjectInfo
	err := call(ctx, callLimit, func(ctx context.Context) error {
		var err error
		o, err = w.store.core.StatObject(ctx, w.store.bucket, w.name, minio.StatObjectOptions{})
		return err
	})
	switch {
	case err != nil:
		return err
	case o.UserMetadata[writerKey] == w.writer:
		return nil
	default:
		return otherwise
	}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
