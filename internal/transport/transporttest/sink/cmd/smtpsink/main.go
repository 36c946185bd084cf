// Command smtpsink is package sink as a program. It prints "listening" and its
// address, serves until its standard input ends or it is interrupted, and prints
// its counts as JSON.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "smtpsink:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	var cfg sink.Config
	fs := flag.NewFlagSet("smtpsink", flag.ContinueOnError)
	addr := fs.String("addr", "127.0.0.1:0", "address to listen on")
	pipelining := fs.Bool("pipelining", true, "offer PIPELINING")
	fs.StringVar(&cfg.Record, "file", "", "append a line per accepted recipient to this file")
	fs.BoolVar(&cfg.Fsync, "fsync", false, "make each line durable before its 250")
	fs.StringVar(&cfg.Refuse, "refuse", "", "refuse every recipient with this in its address")
	fs.StringVar(&cfg.Wants, "wants", "", "refuse every message without this in it")
	fs.IntVar(&cfg.BytesPerSecond, "rate", 0, "bytes a second that a connection is read at")
	fs.IntVar(&cfg.DropBeforeDot, "drop-before-dot", 0, "drop every n-th message after the 354")
	fs.IntVar(&cfg.DropLost, "drop-lost", 0, "read every n-th message, do not take it, drop the connection")
	fs.IntVar(&cfg.DropTaken, "drop-taken", 0, "take every n-th message, drop the connection unanswered")
	fs.IntVar(&cfg.DeferEvery, "defer", 0, "answer 451 to every n-th final dot")
	fs.IntVar(&cfg.ThrottleEvery, "throttle", 0, "answer 454 4.7.0 to every n-th final dot")
	fs.IntVar(&cfg.LateEvery, "late-every", 0, "answer every n-th final dot late")
	fs.DurationVar(&cfg.Late, "late", 0, "how late")
	if err := fs.Parse(args); err != nil {
		return err
	}
	cfg.NoPipelining = !*pipelining

	s, err := sink.New(cfg)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		return errors.Join(fmt.Errorf("listen: %w", err), s.Close())
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	fmt.Fprintln(stdout, "listening", ln.Addr())

	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	go func() {
		// The sink must not outlive the test that started it.
		_, _ = io.Copy(io.Discard, stdin)
		ended <- syscall.SIGTERM
	}()
	select {
	case <-ended:
	case err = <-served:
	}
	err = errors.Join(err, s.Close())
	return errors.Join(err, json.NewEncoder(stdout).Encode(s.Counts()))
}
