package main_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestQuickstart(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	command(t, []string{"TMPDIR=" + tmp}, "quickstart").expect(t, 0,
		"a message to two recipients", "a message with an attachment", "a message that its next hop refuses", "a batch of 500 messages",
		"the same batch again", "nobody+rejected@example.net  failed rejected_recipient", "503 sent  1 failed",
		"audience regulars, version 1: email, name, orders", `of customers where country is not "DK" and`,
		"116 matched = 109 mailable + 2 no_address + 2 invalid + 2 duplicate + 1 suppressed\n",
		`  {"email":"eero4@example.com","name":"Eero","orders":[{"total":"20.50"}]}`,
		`a filter with a mistake reaches nobody: definition.lens.where.contry: table customers has no field "contry"`,
		"books: 504 accepted = 503 kept by the sandbox + 1 failed; they balance", "The API was at http://127.0.0.1:", "quickstart --keep")
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// seen is an output that tells when it holds a text.
type seen struct {
	mu   sync.Mutex
	b    bytes.Buffer
	want string
	ch   chan struct{}
	once sync.Once
}

func (s *seen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Write(p)
	if strings.Contains(s.b.String(), s.want) {
		s.once.Do(func() { close(s.ch) })
	}
	return len(p), nil
}

func TestQuickstartKeepsAServerThatWorks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "quickstart", "--keep")
	cmd.Env = environment(t, nil)
	out := &seen{want: "until you press Ctrl-C", ch: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-out.ch:
	case err := <-done:
		t.Fatalf("it ended: %v\n%s", err, out.b.String())
	}
	text := out.b.String()
	// The printed curl line, carried out.
	line := regexp.MustCompile(`(?m)^  curl -sS -H @(\S+) -H '(\S+): (\S+)' -d '(.*)' (\S+)$`).FindStringSubmatch(text)
	if line == nil {
		t.Fatalf("no curl line:\n%s", text)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, line[5], strings.NewReader(line[4]))
	if err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile(line[1])
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(strings.TrimSpace(string(header)), ": ")
	req.Header.Set(name, value)
	req.Header.Set(line[2], line[3])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		t.Errorf("the curl line: %s", resp.Status)
	}
	if strings.Contains(text, strings.TrimPrefix(value, "Bearer ")) {
		t.Error("the key is printed")
	}
	// The printed environment and commands.
	set := regexp.MustCompile(`(?m)^  export (POSTLEDGER_SERVER=\S+) (POSTLEDGER_CREDENTIALS=\S+)$`).FindStringSubmatch(text)
	show := regexp.MustCompile(`(?m) messages show (\S+)$`).FindStringSubmatch(text)
	if set == nil || show == nil {
		t.Fatalf("no commands:\n%s", text)
	}
	command(t, set[1:], "messages", "show", show[1]).expect(t, 0, "Your order has shipped", "ada@example.net")
	command(t, set[1:], "audience", "preview", "regulars").expect(t, 0, "matched              116\n", "suppressed           1\n", "eero4@example.com")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("%v\n%s", err, out.b.String())
	}
	if _, err := os.Stat(filepath.Dir(line[1])); err == nil {
		t.Error("its directory is left behind")
	}
}
