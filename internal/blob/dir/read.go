package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/postledger/postledger/internal/blob"
)

// Open implements [blob.Store].
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	_, _, path, err := place(key)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := s.root.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, blob.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	return f, nil
}

// Delete implements [blob.Store]. It is not synced: a blob that comes back
// after a power loss is an orphan like any other.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, _, path, err := place(key)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}

func (s *Store) readDir(name string) ([]os.DirEntry, error) {
	d, err := s.root.Open(name)
	if err != nil {
		return nil, err
	}
	entries, err := d.ReadDir(-1)
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return entries, err
}
