package dir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/postledger/postledger/internal/blob"
)

// Put implements [blob.Store].
func (s *Store) Put(ctx context.Context, key string, r io.Reader, limit int64) (blob.Info, error) {
	app, shard, path, err := place(key)
	if err != nil {
		return blob.Info{}, err
	}
	if _, err := s.root.Lstat(path); err == nil {
		return blob.Info{}, blob.ErrExists
	}
	temp, info, err := s.writeTemp(blob.NewMeter(ctx, r, limit))
	if err != nil {
		return blob.Info{}, err
	}
	if err := s.settle(temp, app, shard, path); err != nil {
		_ = s.root.Remove(temp)
		return blob.Info{}, fmt.Errorf("store blob: %w", full(err))
	}
	return info, nil
}

// writeTemp writes a synced file under a temporary name. It leaves nothing
// behind when it fails.
func (s *Store) writeTemp(m *blob.Meter) (temp string, info blob.Info, err error) {
	temp = tempDir + "/" + rand.Text()
	f, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return "", blob.Info{}, fmt.Errorf("create blob: %w", full(err))
	}
	_, err = io.Copy(f, m)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	switch {
	case err == nil:
		return temp, m.Info(), nil
	case m.Err() != nil:
		err = m.Err()
	default:
		err = fmt.Errorf("write blob: %w", full(err))
	}
	_ = s.root.Remove(temp)
	return "", blob.Info{}, err
}

// settle gives a written file its name and makes the name durable.
func (s *Store) settle(temp, app, shard, path string) error {
	// Another process may remove a shard that is empty and old between the
	// two steps. It does so once an hour at most, so three tries are plenty.
	var err error
	for range 3 {
		if err = s.makeDirs(app, shard); err != nil {
			return err
		}
		if err = s.root.Rename(temp, path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		s.forget(app, shard)
	}
	if err != nil {
		return err
	}
	if err := s.syncDir(shard); err != nil {
		// The name may or may not be on disk: it must not be there for a Put
		// that fails.
		_ = s.root.Remove(path)
		return err
	}
	return nil
}

// makeDirs creates the directories of a blob and syncs their entries. A
// directory that exists may have been made by a process that has not synced it
// yet, so only this process's own memory counts.
func (s *Store) makeDirs(app, shard string) error {
	for _, d := range [...]struct{ name, parent string }{{app, "."}, {shard, app}} {
		if s.isKnown(d.name) {
			continue
		}
		if err := s.root.Mkdir(d.name, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := s.syncDir(d.parent); err != nil {
			return err
		}
		s.learn(d.name)
	}
	return nil
}

func (s *Store) syncDir(name string) error {
	d, err := s.root.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (s *Store) isKnown(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.known[name]
	return ok
}

func (s *Store) learn(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxKnown {
		clear(s.known)
	}
	s.known[name] = struct{}{}
}

func (s *Store) forget(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		delete(s.known, name)
	}
}

// Check implements [blob.Store]. It writes one byte, because an empty file
// needs no space.
func (s *Store) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := tempDir + "/" + rand.Text()
	err := s.root.WriteFile(name, []byte{'\n'}, fileMode)
	if removeErr := s.root.Remove(name); err == nil {
		err = removeErr
	}
	if err != nil {
		return fmt.Errorf("check blob directory: %w", full(err))
	}
	return nil
}
