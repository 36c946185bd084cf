package dir_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/postledger/postledger/internal/blob"
)

// smallVariable names an empty file system of at most 1 MiB, for those who may
// not mount one.
const smallVariable = "POSTLEDGER_TEST_SMALL_FS"

// A file system that is really full.
func TestFull(t *testing.T) {
	root := os.Getenv(smallVariable)
	if root == "" {
		root = t.TempDir()
		if err := syscall.Mount("none", root, "tmpfs", 0, "size=64k"); err != nil {
			t.Skipf("may not mount a small file system (%v) and POSTLEDGER_TEST_SMALL_FS names none", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	s := open(t, root)
	if _, err := s.Put(t.Context(), "a/m/0", zeros{}, 4<<20); !errors.Is(err, blob.ErrFull) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Put = %v, want ErrFull", err)
	}
	if got := files(t, root); len(got) != 0 {
		t.Errorf("left %q", got)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check with space: %v", err)
	}
	for i := 0; ; i++ {
		key, err := blob.Key("a", "m", i)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Put(t.Context(), key, strings.NewReader(strings.Repeat("x", 1+rand.IntN(4096))), 4096); err != nil {
			if !errors.Is(err, blob.ErrFull) {
				t.Errorf("Put %d = %v, want ErrFull", i, err)
			}
			break
		}
	}
	if err := s.Check(t.Context()); !errors.Is(err, blob.ErrFull) {
		t.Errorf("Check = %v, want ErrFull", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
