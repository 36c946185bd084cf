// Package dir keeps blobs as files below one directory.
//
// # Layout
//
//	<root>/.tmp/<random>              a blob that is being written
//	<root>/<app>/<shard>/<message>.<n>
//
// The shard is the first eight bytes of the message id. Ids that start with a
// timestamp (UUIDv7) get a new shard about once a minute, so no directory grows
// with the backlog, and the order of shards and files is the order of keys.
//
// # What survives
//
// Put writes to a temporary name, syncs the file, renames it and syncs its
// directory; a directory's parent is synced before the first Put into it
// returns. So a blob is either there and whole, or not there, also after the
// machine has lost its power at any instant. What a crash leaves in .tmp is
// removed by the next [Open] once it is a day old, or by [Store.Sweep].
//
// # Safety
//
// All access goes through an [os.Root]: no key and no symbolic link leads out
// of the directory. What is created is private to its owner (0700, 0600).
// Several processes may use one directory.
package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/postledger/postledger/internal/blob"
)

const (
	tempDir  = ".tmp"
	dirMode  = 0o700
	fileMode = 0o600

	shardSize = 8

	// tempAge is longer than any Put takes.
	tempAge = 24 * time.Hour
	// emptyAge: nobody writes into a shard again an hour after its minute.
	emptyAge = time.Hour
	// maxKnown bounds the directories remembered as synced: a shard for every
	// minute of half a day, or 64 bytes times 1,024.
	maxKnown = 1024
)

// Store implements [blob.Store].
type Store struct {
	root *os.Root

	mu    sync.Mutex
	known map[string]struct{} // directories whose entry in their parent is synced
}

var _ blob.Store = (*Store)(nil)

// Open uses the directory at path, which is created if its parent exists.
func Open(path string) (*Store, error) {
	if err := os.Mkdir(path, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create blob directory: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open blob directory: %w", err)
	}
	s := &Store{root: root, known: map[string]struct{}{}}
	if err := s.root.Mkdir(tempDir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		_ = root.Close()
		return nil, fmt.Errorf("create blob directory: %w", full(err))
	}
	if _, err := s.Sweep(context.Background(), time.Now().Add(-tempAge)); err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("clean blob directory: %w", err)
	}
	if err := syncParent(path); err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("sync blob directory: %w", err)
	}
	return s, nil
}

// syncParent makes the root's own name durable. A parent we may not read is
// one somebody else made the root in.
func syncParent(path string) error {
	parent, err := os.Open(filepath.Dir(filepath.Clean(path)))
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	err = parent.Sync()
	if closeErr := parent.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Close releases the directory. No other method may be running.
func (s *Store) Close() error { return s.root.Close() }

// Sweep implements [blob.Store].
func (s *Store) Sweep(ctx context.Context, before time.Time) (int, error) {
	entries, err := s.readDir(tempDir)
	if err != nil {
		return 0, fmt.Errorf("sweep temporary files: %w", err)
	}
	removed := 0
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue // another process has just finished with it, or is at it
		}
		if err := s.root.Remove(tempDir + "/" + e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("sweep temporary files: %w", err)
		}
		removed++
	}
	return removed, nil
}

// place returns the directory of a blob and its path.
func place(key string) (app, shard, path string, err error) {
	app, message, n, err := blob.SplitKey(key)
	if err != nil {
		return "", "", "", err
	}
	shard = app + "/" + message[:min(shardSize, len(message))]
	return app, shard, shard + "/" + message + "." + strconv.Itoa(n), nil
}

// full gives errors that mean "no space" their name.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	}
	return err
}
