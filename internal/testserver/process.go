package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// startTimeout is how long a server may take until it accepts connections. It
// is generous because eight packages may share two cores.
const startTimeout = time.Minute

// process is a child that cannot outlive this process.
type process struct {
	pid  int
	done chan struct{} // closed when the child has been reaped
	err  error         // its exit, once done is closed
}

// startProcess runs cmd until it exits by itself or is killed. The kernel kills
// it when the thread that started it ends, so that thread is kept for as long as
// the child lives.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(p.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		dieWithParent(cmd)
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.pid = cmd.Process.Pid
		started <- nil
		p.err = cmd.Wait()
	}()
	if err := <-started; err != nil {
		<-p.done
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	return p, nil
}

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) signal(signals ...syscall.Signal) {
	for _, s := range signals {
		if !p.exited() {
			// The child may exit at this moment; then there is nothing to signal.
			_ = syscall.Kill(p.pid, s)
		}
	}
}

// stop asks with the signal, then kills, and returns when the child is gone.
func (p *process) stop(ask syscall.Signal, patience time.Duration) {
	p.signal(ask, syscall.SIGCONT)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// awaitReady polls ready until it holds. It fails when the child exits first.
func (p *process) awaitReady(ready func() bool) error {
	deadline := time.Now().Add(startTimeout)
	for !ready() {
		if p.exited() {
			return fmt.Errorf("exited before it was ready: %w", p.err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not ready after %v", startTimeout)
		}
		time.Sleep(pollInterval)
	}
	if p.exited() {
		return fmt.Errorf("exited when it was ready: %w", p.err)
	}
	return nil
}

// serve runs a server for the length of the test. Its output goes to a file
// that is shown when the server does not come up.
func serve(tb testing.TB, cmd *exec.Cmd, ready func() bool) *process {
	tb.Helper()
	name := filepath.Base(cmd.Path)
	log, err := os.Create(filepath.Join(tb.TempDir(), name+".log"))
	if err != nil {
		tb.Fatalf("start %s: %v", name, err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	p, err := startProcess(cmd)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.stop(syscall.SIGTERM, 5*time.Second) })
	if err := p.awaitReady(ready); err != nil {
		tb.Fatalf("%s: %v\n%s", name, err, tail(log.Name()))
	}
	return p
}

// tail is the end of a log file, for a failure's message.
func tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const most = 4 << 10
	if len(data) > most {
		data = data[len(data)-most:]
	}
	return string(data)
}
