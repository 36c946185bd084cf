package testserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// daemon is a server of one process that belongs to a test, to be stopped,
// killed, frozen and started again. Its methods fail the test when they cannot
// do what they say.
type daemon struct {
	tb      testing.TB
	name    string
	port    int
	log     string
	command func() *exec.Cmd
	ready   func() bool
	server  *process // nil while it does not run
	frozen  bool
}

func newDaemon(tb testing.TB, name string, port int, command func() *exec.Cmd, ready func() bool) daemon {
	return daemon{
		tb:      tb,
		name:    name,
		port:    port,
		log:     filepath.Join(tb.TempDir(), name+".log"),
		command: command,
		ready:   ready,
	}
}

// Addr is the host and port, to put a [Proxy] in front of.
func (d *daemon) Addr() string { return loopback(d.port) }

// Start starts a stopped server and returns when it answers.
func (d *daemon) Start() {
	d.tb.Helper()
	if d.server != nil {
		d.tb.Fatalf("start %s: it already runs", d.name)
	}
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.tb.Fatalf("start %s: %v", d.name, err)
	}
	defer log.Close()
	cmd := d.command()
	cmd.Stdout, cmd.Stderr = log, log
	server, err := startProcess(cmd)
	if err != nil {
		d.tb.Fatal(err)
	}
	d.server = server
	if err := server.awaitReady(d.ready); err != nil {
		d.tb.Fatalf("start %s: %v\n%s", d.name, err, tail(d.log))
	}
}

// Stop ends the server in order and returns when it is gone.
func (d *daemon) Stop() { d.tb.Helper(); d.end("stop", syscall.SIGTERM) }

// Kill ends the server at once, as a power failure does but for the disk, and
// returns when it is gone.
func (d *daemon) Kill() { d.tb.Helper(); d.end("kill", syscall.SIGKILL) }

func (d *daemon) end(verb string, signal syscall.Signal) {
	d.tb.Helper()
	if d.server == nil {
		d.tb.Fatalf("%s %s: it does not run", verb, d.name)
	}
	d.server.stop(signal, startTimeout)
	d.server, d.frozen = nil, false
}

// Pause freezes the server: connections stay open and nothing answers, as when
// its machine is unreachable.
func (d *daemon) Pause() {
	d.tb.Helper()
	if d.server == nil || d.frozen {
		d.tb.Fatalf("pause %s: it does not run", d.name)
	}
	if err := freeze(d.server.pid); err != nil {
		d.tb.Fatalf("pause %s: %v", d.name, err)
	}
	d.frozen = true
}

// Resume undoes Pause.
func (d *daemon) Resume() {
	d.tb.Helper()
	if !d.frozen {
		d.tb.Fatalf("resume %s: it is not paused", d.name)
	}
	d.server.signal(syscall.SIGCONT)
	d.frozen = false
}

// close ends the server at the end of its test, whatever state it is in.
func (d *daemon) close() {
	if d.server != nil {
		d.server.stop(syscall.SIGKILL, 0)
		d.server = nil
	}
}
