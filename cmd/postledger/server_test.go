package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
)

// place is where a server's data is, and the variables that say so.
type place struct {
	dir string
	env []string
}

// newPlace is an empty one. set stands over the defaults.
func newPlace(t *testing.T, set ...string) place {
	t.Helper()
	dir := t.TempDir()
	return place{dir, append([]string{
		"POSTLEDGER_DATA_DIR=" + dir, "POSTLEDGER_HTTP=127.0.0.1:0", "POSTLEDGER_ADMIN_HTTP=127.0.0.1:0",
		"POSTLEDGER_STOP_TIMEOUT=20s",
	}, set...)}
}

// run runs a command on the place's database.
func (p place) run(t *testing.T, args ...string) result {
	t.Helper()
	return command(t, p.env, args...)
}

// server is a process that serves.
type server struct {
	place
	cmd        *exec.Cmd
	api, admin string
	done       chan struct{} // closed when it has ended

	mu  sync.Mutex
	log strings.Builder
}

// start starts a server and waits until it says that it serves.
func (p place) start(t *testing.T, args ...string) *server {
	t.Helper()
	s, up := p.launch(t, args...)
	select {
	case <-up:
	case <-s.done:
		t.Fatalf("it ended: %s", s.logged())
	case <-time.After(patience):
		t.Fatalf("it does not serve: %s", s.logged())
	}
	return s
}

// launch starts a server; up is closed when it serves.
func (p place) launch(t *testing.T, args ...string) (s *server, up chan struct{}) {
	t.Helper()
	return p.launchProgram(t, binary, args...)
}

// launchProgram is launch with another build of the binary.
func (p place) launchProgram(t *testing.T, program string, args ...string) (s *server, up chan struct{}) {
	t.Helper()
	s = &server{place: p, cmd: exec.Command(program, append([]string{"serve"}, args...)...), done: make(chan struct{})}
	s.cmd.Env = environment(t, p.env)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	up = make(chan struct{})
	go s.read(stderr, up)
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		<-s.done
	})
	return s, up
}

// read keeps the log, and finds out where the server listens.
func (s *server) read(stderr io.Reader, up chan struct{}) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		s.mu.Lock()
		s.log.WriteString(lines.Text() + "\n")
		s.mu.Unlock()
		var line struct {
			Msg   string `json:"msg"`
			HTTP  string `json:"http"`
			Admin string `json:"admin_http"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "postledger serves" {
			s.api, s.admin = "http://"+line.HTTP, "http://"+line.Admin
			close(up)
		}
	}
	_ = s.cmd.Wait() // its exit code is read from the process's state
	close(s.done)
}

func (s *server) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// signal sends one and waits for the end; it returns the exit code.
func (s *server) signal(t *testing.T, sig syscall.Signal) int {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	return s.wait(t)
}

func (s *server) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Fatalf("it does not end: %s", s.logged())
	}
	return s.cmd.ProcessState.ExitCode()
}

// operator is the environment of an operator's commands over HTTP.
func (s *server) operator(t *testing.T) []string {
	t.Helper()
	key := s.run(t, "keys", "create", "--operator", "--out", "-").token(t)
	return []string{"POSTLEDGER_SERVER=" + s.api, "POSTLEDGER_API_KEY=" + key}
}

// appKey is the environment of an app's commands over HTTP.
func (s *server) appKey(t *testing.T, app string) []string {
	t.Helper()
	key := s.run(t, "keys", "create", "--app", app, "--new-app", "--scopes", "send,read,content", "--out", "-").token(t)
	return []string{"POSTLEDGER_SERVER=" + s.api, "POSTLEDGER_API_KEY=" + key}
}

// client speaks with the key of an environment.
func (s *server) client(t *testing.T, env []string) *client.Client {
	t.Helper()
	c, err := client.New(s.api, strings.TrimPrefix(env[1], "POSTLEDGER_API_KEY="))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// until asks again and again, until the deliveries of the app are as wanted.
func until(t *testing.T, c *client.Client, what string, ok func(map[postledger.Status]int) bool) map[postledger.Status]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last map[postledger.Status]int
	for {
		n := map[postledger.Status]int{}
		for d, err := range c.Deliveries(ctx, client.DeliveryFilter{PageSize: 1000}) {
			if err != nil {
				t.Fatalf("wait until %s: %v (%v)", what, err, last)
			}
			n[d.Status]++
		}
		if last = n; ok(n) {
			return n
		}
		<-tick.C
	}
}

func settled(n map[postledger.Status]int) bool {
	return n[postledger.StatusQueued]+n[postledger.StatusSending] == 0
}

// sandbox makes a place with a server, a sandbox profile and an app.
func sandbox(t *testing.T) (s *server, operator, app []string) {
	t.Helper()
	s = newPlace(t).start(t)
	operator = s.operator(t)
	command(t, operator, "profiles", "put", "box", "--from", "shop@example.org", "--transport", "sandbox").expect(t, 0, "box: revision 1")
	return s, operator, s.appKey(t, "shop")
}

// database is the path of a place's embedded ledger.
func (p place) database() string { return filepath.Join(p.dir, "postledger.db") }
