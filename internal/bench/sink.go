package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

// sinkPart is the part that takes the mail.
const sinkPart = "sink"

// serveSink serves until its input ends, so that it cannot outlive the bench.
func serveSink(in io.Reader, out io.Writer) error {
	s, err := sink.New(sink.Config{})
	if err != nil {
		return fmt.Errorf("make sink: %w", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(fmt.Errorf("listen: %w", err), s.Close())
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	fmt.Fprintln(out, ln.Addr())
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, s.Close(), <-served)
}

// startSink starts a sink process and returns its address and its end.
func startSink() (addr string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self, childVerb, sinkPart)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, fmt.Errorf("start sink: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, fmt.Errorf("start sink: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start sink: %w", err)
	}
	stop = func() {
		in.Close()
		_ = cmd.Wait() // it has nothing left to say
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("start sink: %w", err)
	}
	return strings.TrimSpace(line), stop, nil
}
