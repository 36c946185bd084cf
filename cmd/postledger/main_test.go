package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The tests run the binary that users run; it is built once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "postledger-cmd-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "postledger")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if raced {
		build = exec.Command("go", "build", "-race", "-o", binary, ".")
	}
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// patience is how long anything may take on a loaded machine.
const patience = 60 * time.Second

// result is a command that has ended.
type result struct {
	code           int
	stdout, stderr string
}

// environment is that of a command: none of the tests' own variables, and no
// home whose files could be found.
func environment(t *testing.T, set []string) []string {
	t.Helper()
	env := []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	return append(env, set...)
}

// command runs the binary to its end.
func command(t *testing.T, set []string, args ...string) result {
	t.Helper()
	return commandIn(t, set, "", args...)
}

func commandIn(t *testing.T, set []string, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = environment(t, set)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("run %v: %v", args, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// expect fails unless the command ended with a code and said all of the texts.
func (r result) expect(t *testing.T, code int, says ...string) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.stdout, r.stderr)
	}
	for _, s := range says {
		if !strings.Contains(r.stdout+r.stderr, s) {
			t.Fatalf("does not say %q\nstdout: %s\nstderr: %s", s, r.stdout, r.stderr)
		}
	}
	return r
}

// token is the only line of the standard output.
func (r result) token(t *testing.T) string {
	t.Helper()
	r.expect(t, 0)
	if strings.Count(r.stdout, "\n") != 1 {
		t.Fatalf("want one line, have %q", r.stdout)
	}
	return strings.TrimSpace(r.stdout)
}

// writeFile makes a file in a directory of the test.
func writeFile(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}
