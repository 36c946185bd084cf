package dir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/blob/blobtest"
	"github.com/postledger/postledger/internal/blob/dir"
)

func open(t *testing.T, path string) *dir.Store {
	t.Helper()
	s, err := dir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, filepath.Join(t.TempDir(), "blobs")) })
}

func put(t *testing.T, s *dir.Store, key, content string) {
	t.Helper()
	if _, err := s.Put(t.Context(), key, strings.NewReader(content), 1<<20); err != nil {
		t.Fatalf("Put(%q): %v", key, err)
	}
}

// files lists everything below a directory but directories.
func files(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLayoutIsPrivate(t *testing.T) {
	root := filepath.Join(t.TempDir(), "blobs")
	s := open(t, root)
	put(t, s, "shop/01890000-7a3f/0", "x")
	if got := files(t, root); !slices.Equal(got, []string{"shop/01890000/01890000-7a3f.0"}) {
		t.Errorf("files %q", got)
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFailedPutLeavesNothing(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	if _, err := s.Put(t.Context(), "a/m/0", strings.NewReader("too long"), 3); !errors.Is(err, blob.ErrTooLarge) {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := files(t, root); len(got) != 0 {
		t.Errorf("left %q", got)
	}
}

// A crash leaves temporary files. They are no blobs, and go when they are old.
func TestCrashLeftovers(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	put(t, s, "a/m/0", "x")
	for name, age := range map[string]time.Duration{"OLD": 25 * time.Hour, "FRESH": time.Hour} {
		path := filepath.Join(root, ".tmp", name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := s.List(t.Context(), "", "", 100)
	if err != nil || len(entries) != 1 {
		t.Errorf("List = %v, %v", entries, err)
	}
	open(t, root)
	if got := files(t, root); !slices.Equal(got, []string{".tmp/FRESH", "a/m/m.0"}) {
		t.Errorf("files %q", got)
	}
}

func TestForeignFilesAreNoBlobs(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	put(t, s, "a/m/0", "x")
	for _, path := range []string{"README", "a/notes.txt", "a/m/m.00", "a/m/m", "a/m/n.0", "a/m/.m.0", "Bad/m/m.0"} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := s.List(t.Context(), "", "", 100)
	if err != nil || len(entries) != 1 || entries[0].Key != "a/m/0" {
		t.Errorf("List = %v, %v", entries, err)
	}
}

func TestLinksDoNotLeadOut(t *testing.T) {
	outside := t.TempDir()
	if err := os.MkdirAll(filepath.Join(outside, "m"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "m", "m.0"), []byte("not ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	s := open(t, root)
	if err := os.Symlink(outside, filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Open(t.Context(), "a/m/0"); err == nil {
		r.Close()
		t.Error("a link is followed out of the directory")
	}
	if _, err := s.Put(t.Context(), "a/m/1", strings.NewReader("x"), 1); err == nil {
		t.Error("Put writes through a link")
	}
	if err := s.Delete(t.Context(), "a/m/0"); err == nil {
		t.Error("Delete works through a link")
	}
	if got := files(t, outside); !slices.Equal(got, []string{"m/m.0"}) {
		t.Errorf("outside: %q", got)
	}
	if got := files(t, filepath.Join(root, ".tmp")); len(got) != 0 {
		t.Errorf("left %q", got)
	}
}

// Shards that deletions emptied go with a listing once they are old, and a Put
// into one that another process has removed makes it again.
func TestEmptyShards(t *testing.T) {
	root := t.TempDir()
	s, other := open(t, root), open(t, root)
	put(t, s, "a/m1/0", "x")
	put(t, s, "a/m2/0", "x")
	for _, key := range []string{"a/m1/0", "a/m2/0"} {
		if err := s.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(root, "a/m1"), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := other.List(t.Context(), "", "", 100); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "a/m1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("old empty shard: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "a/m2")); err != nil {
		t.Errorf("fresh empty shard: %v", err)
	}
	put(t, s, "a/m1/1", "x")
}

func TestLostDirectory(t *testing.T) {
	root := filepath.Join(t.TempDir(), "blobs")
	s := open(t, root)
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err == nil {
		t.Error("Check succeeds without a directory")
	}
	if _, err := s.Put(t.Context(), "a/m/0", strings.NewReader("x"), 1); err == nil {
		t.Error("Put succeeds without a directory")
	}
	if _, err := dir.Open(filepath.Join(root, "deep", "er")); err == nil {
		t.Error("Open makes more than the last directory")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Open(file); err == nil {
		t.Error("Open takes a file")
	}
}

func FuzzKey(f *testing.F) {
	for _, key := range append(blobtest.BadKeys(), "a/m/0", "shop/01890000-7a3f/9999") {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		base := t.TempDir()
		root := filepath.Join(base, "blobs")
		s := open(t, root)
		_, err := s.Put(t.Context(), key, strings.NewReader("x"), 1)
		got := files(t, base)
		if err != nil {
			if !errors.Is(err, blob.ErrKey) || len(got) != 0 {
				t.Fatalf("Put(%q) = %v and left %q", key, err, got)
			}
			return
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], "blobs/") {
			t.Fatalf("Put(%q) made %q", key, got)
		}
		entries, err := s.List(t.Context(), "", "", 10)
		if err != nil || len(entries) != 1 || entries[0].Key != key {
			t.Fatalf("List after Put(%q) = %v, %v", key, entries, err)
		}
	})
}
