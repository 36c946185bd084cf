package testserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// checkoutRoot is the directory of go.mod above the test's working directory,
// which go test sets to the package's own directory.
func checkoutRoot(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatalf("find the checkout: %v", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		tb.Fatalf("find the checkout: %v", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("find the checkout: no go.mod above the working directory")
		}
		dir = parent
	}
}

// program finds an executable, or fails the test.
func program(tb testing.TB, name string) string {
	tb.Helper()
	path, ok := findProgram(tb, name)
	if !ok {
		tb.Fatalf("%s is not installed: run `make deps`", name)
	}
	return path
}

// findProgram looks in .deps/bin, then in PATH, then in the directories of
// system programs, which a user's PATH often leaves out.
func findProgram(tb testing.TB, name string) (path string, ok bool) {
	tb.Helper()
	own := filepath.Join(checkoutRoot(tb), ".deps", "bin", name)
	for _, candidate := range []string{own, name, filepath.Join("/usr/sbin", name)} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path, true
		}
	}
	return "", false
}

// sharedDir is the directory through which the test processes of one checkout
// and one user meet. It belongs to the user that runs PostgreSQL and is closed
// to others, for its name in a public directory can be guessed.
func sharedDir(tb testing.TB) string {
	tb.Helper()
	sum := sha256.Sum256([]byte(checkoutRoot(tb)))
	name := fmt.Sprintf("postledger-test-%d-%s", os.Getuid(), hex.EncodeToString(sum[:6]))
	dir := filepath.Join(os.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		tb.Fatalf("create the servers' directory: %v", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		tb.Fatalf("inspect the servers' directory: %v", err)
	}
	owner := postgresUser(tb)
	uid := int(info.Sys().(*syscall.Stat_t).Uid)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || (uid != owner.uid && uid != os.Getuid()) {
		tb.Fatalf("%s is not a directory of mode 0700 owned by user %s: remove it", dir, strconv.Itoa(owner.uid))
	}
	if err := owner.own(dir); err != nil {
		tb.Fatalf("hand over the servers' directory: %v", err)
	}
	return dir
}

// kindDir is the part of the shared directory for one kind of server.
func kindDir(tb testing.TB, kind string) string {
	tb.Helper()
	dir := filepath.Join(sharedDir(tb), kind)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		tb.Fatalf("create the servers' directory: %v", err)
	}
	if err := postgresUser(tb).own(dir); err != nil {
		tb.Fatalf("hand over the servers' directory: %v", err)
	}
	return dir
}
