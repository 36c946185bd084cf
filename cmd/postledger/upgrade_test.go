package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A rolling upgrade: a process of an earlier version made the ledger, this
// binary's migration is applied beside it, and from then on one of each version
// shares the ledger and its journals, each killed at its own moments. Each
// recovers what the other has left (invariants 1, 4, 5 and 6).
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	storm(t, stormForm{db: "postgres", processes: 2, earlier: earlier(t), kills: 8, deliveries: 2000})
}

func TestRollingUpgradeLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	storm(t, longStorm(t, stormForm{db: "postgres", processes: 2, earlier: earlier(t)}))
}

// earlier is the binary of the version before the newest migration, built from
// the history of this clone and kept in .deps, or the one that
// POSTLEDGER_TEST_EARLIER names.
func earlier(t *testing.T) string {
	t.Helper()
	switch given := os.Getenv("POSTLEDGER_TEST_EARLIER"); given {
	case "":
	case "none":
		t.Skip("POSTLEDGER_TEST_EARLIER is none")
	default:
		return given
	}
	commit := strings.TrimSpace(output(t, "./scripts/earlier.sh"))
	dir, err := filepath.Abs(filepath.Join("..", "..", ".deps", "earlier"))
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, commit)
	if _, err := os.Stat(kept); err == nil {
		return kept
	}
	source := t.TempDir()
	archive := filepath.Join(source, "source.tar")
	output(t, "git", "archive", "--output", archive, commit)
	output(t, "tar", "-xf", archive, "-C", source)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// Under its name it is complete, also when two runs build it at once.
	unfinished, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(unfinished)
	built := filepath.Join(unfinished, "postledger")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", built, "./cmd/postledger")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the earlier version: %v\n%s", err, out)
	}
	if err := os.Rename(built, kept); err != nil {
		t.Fatal(err)
	}
	return kept
}

// output runs a program in the checkout's root.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join("..", ".."), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, &stderr)
	}
	return stdout.String()
}
