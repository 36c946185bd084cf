package deliver_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app/killpoint"
)

// child is a worker process.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	// started yields the worker's id once it has started, and is closed.
	started chan string
	id      postledger.ID
	// dead is closed when the process has ended; err says how.
	dead chan struct{}
	err  error
}

// startChild starts a worker process that kills itself at a point, or none.
// It returns when the worker has started, or when the process has died.
func startChild(t *testing.T, c childConfig, killAt string) *child {
	t.Helper()
	k := spawn(t, c, killAt)
	if id, ok := <-k.started; ok {
		var err error
		if k.id, err = postledger.ParseID(id); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// spawn is startChild that does not wait.
func spawn(t *testing.T, c childConfig, killAt string) *child {
	t.Helper()
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	k := &child{t: t, cmd: exec.Command(os.Args[0]), dead: make(chan struct{}), started: make(chan string, 1)}
	k.cmd.Env = append(os.Environ(), childVariable+"="+string(config), killpoint.Variable+"="+killAt)
	k.cmd.Stderr = os.Stderr
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if k.stdin, err = k.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := k.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(k.started)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			if id, ok := strings.CutPrefix(s.Text(), "started "); ok {
				k.started <- id
			}
		}
	})
	go func() {
		reading.Wait()
		k.err = k.cmd.Wait()
		close(k.dead)
	}()
	t.Cleanup(k.Kill)
	return k
}

// Kill is kill -9.
func (k *child) Kill() {
	_ = k.cmd.Process.Kill()
	<-k.dead
}

// Dead is closed when the process has ended.
func (k *child) Dead() <-chan struct{} { return k.dead }

// PID is the process's number.
func (k *child) PID() int { return k.cmd.Process.Pid }

func (k *child) signal(s syscall.Signal) {
	k.t.Helper()
	if err := k.cmd.Process.Signal(s); err != nil {
		k.t.Fatal(err)
	}
}

// waitKilled waits until the process has been killed at its point.
func (k *child) waitKilled() {
	k.t.Helper()
	<-k.dead
	var exit *exec.ExitError
	if e, ok := k.err.(*exec.ExitError); ok {
		exit = e
	}
	if exit == nil || !exit.Sys().(syscall.WaitStatus).Signaled() {
		k.t.Fatalf("the worker ended with %v, not by a kill", k.err)
	}
}

// stop asks the worker to stop and demands that it does so without an error.
func (k *child) stop() {
	k.t.Helper()
	_, _ = io.WriteString(k.stdin, "\n")
	<-k.dead
	if k.err != nil {
		k.t.Errorf("stop worker: %v", k.err)
	}
}
