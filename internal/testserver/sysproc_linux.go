package testserver

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent has the kernel kill the child when the starting thread ends.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// known is a process by its id and by when it started: an id is given to another
// process in time.
type known struct {
	pid     int
	started string
}

// Where statFields has a process's state, parent and start.
const (
	statState  = 0
	statParent = 1
	statStart  = 19
)

func identify(pid int) known {
	fields := statFields(pid)
	if len(fields) <= statStart {
		return known{pid: pid}
	}
	return known{pid, fields[statStart]}
}

// ended tells whether a process has let go of its memory and files. It may wait to be
// reaped by whoever got it when its parent ended.
func (p known) ended() bool {
	fields := statFields(p.pid)
	return len(fields) <= statStart || fields[statStart] != p.started || fields[statState] == "Z" || fields[statState] == "X"
}

// children lists the live direct children of a process.
func children(pid int) ([]known, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []known
	for _, path := range stats {
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, fmt.Errorf("list processes: %w", err)
		}
		if fields := statFields(child); len(fields) > statStart && fields[statParent] == strconv.Itoa(pid) {
			found = append(found, known{child, fields[statStart]})
		}
	}
	return found, nil
}

// stopped tells whether a process is stopped by a signal, or gone.
func stopped(pid int) bool {
	fields := statFields(pid)
	return len(fields) == 0 || fields[statState] == "T" || fields[statState] == "Z"
}

// statFields are the fields of /proc/PID/stat after the command's name, which
// may itself contain spaces: state, parent, ... None if the process is gone.
func statFields(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
}

// listening tells whether a loopback port has a listener, without connecting:
// a connection would count as a session for servers that stop after some.
func listening(port int) bool {
	data, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return false
	}
	const listen = "0A"
	address := fmt.Sprintf("0100007F:%04X", port)
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) > 3 && fields[1] == address && fields[3] == listen {
			return true
		}
	}
	return false
}
