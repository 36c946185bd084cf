package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/postledger/postledger/internal/blob"
)

// List implements [blob.Store]. On its way it removes shards that have been
// empty for an hour: deletions leave them, and no Put comes back to them.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]blob.Entry, error) {
	app, message, err := blob.SplitPrefix(prefix)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := lister{store: s, ctx: ctx, prefix: prefix, after: after, limit: limit}
	if err := l.apps(app, message); err != nil {
		return nil, fmt.Errorf("list blobs: %w", err)
	}
	return l.out, nil
}

// lister is one call of List. It holds the names of one directory a level.
type lister struct {
	store         *Store
	ctx           context.Context
	prefix, after string
	limit         int
	out           []blob.Entry
}

func (l *lister) full() bool { return len(l.out) >= l.limit }

func (l *lister) apps(app, message string) error {
	apps := []string{app}
	if app == "" {
		var err error
		if apps, err = l.dirs("."); err != nil {
			return err
		}
	}
	for _, app := range apps {
		if l.full() {
			return nil
		}
		if l.passed(app + "/") {
			continue
		}
		if err := l.shards(app, message); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) shards(app, message string) error {
	shards := []string{message[:min(shardSize, len(message))]}
	if message == "" {
		var err error
		if shards, err = l.dirs(app); err != nil {
			return err
		}
	}
	for _, shard := range shards {
		if l.full() {
			return nil
		}
		if l.passed(app + "/" + shard) {
			continue
		}
		if err := l.files(app, shard); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) files(app, shard string) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	name := app + "/" + shard
	entries, err := l.store.readDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		l.store.removeEmpty(name)
		return nil
	}
	// "." comes right before "/", and neither is in an id, so the order of the
	// files is the order of the keys.
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if l.full() {
			return nil
		}
		key := app + "/" + strings.Replace(e.Name(), ".", "/", 1)
		if _, _, path, err := place(key); err != nil || path != name+"/"+e.Name() {
			continue // not one of ours
		}
		if key <= l.after || !strings.HasPrefix(key, l.prefix) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		l.out = append(l.out, blob.Entry{Key: key, Size: info.Size(), Modified: info.ModTime()})
	}
	return nil
}

// dirs returns the directories in one, in the order of the keys below them.
func (l *lister) dirs(name string) ([]string, error) {
	entries, err := l.store.readDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != tempDir {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a+"/", b+"/") })
	return names, nil
}

// passed reports whether all keys that start with start come before the page.
func (l *lister) passed(start string) bool {
	return l.after > start && !strings.HasPrefix(l.after, start)
}

// removeEmpty removes an old shard. That it is still empty is for the system
// to say: a directory with a file in it is not removed.
func (s *Store) removeEmpty(shard string) {
	info, err := s.root.Lstat(shard)
	if err != nil || time.Since(info.ModTime()) < emptyAge {
		return
	}
	s.forget(shard)
	_ = s.root.Remove(shard)
}
