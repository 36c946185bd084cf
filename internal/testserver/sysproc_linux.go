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

// children lists the live direct children of a process.
func children(pid int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []int
	for _, path := range stats {
		fields := statFields(path)
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				return nil, fmt.Errorf("list processes: %w", err)
			}
			found = append(found, child)
		}
	}
	return found, nil
}

// stopped tells whether a process is stopped by a signal, or gone.
func stopped(pid int) bool {
	fields := statFields(fmt.Sprintf("/proc/%d/stat", pid))
	return len(fields) == 0 || fields[0] == "T" || fields[0] == "Z"
}

// statFields are the fields of /proc/PID/stat after the command's name, which
// may itself contain spaces: state, parent, ... None if the process is gone.
func statFields(path string) []string {
	data, err := os.ReadFile(path)
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
