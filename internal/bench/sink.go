package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

// sinkPart is the part that takes the mail.
const sinkPart = "sink"

// watchedPrefix begins the addresses whose arrival the sink notes the time of.
const watchedPrefix = "now."

// sinkConfig is what a sink is told, sinkState what it says when it is asked.
type sinkConfig struct {
	Addr         string // where it listens; "" until it does
	NoPipelining bool
}

type sinkState struct {
	Messages int64
	// Arrived are the watched recipients since the question before.
	Arrived map[string]time.Time
}

// serveSink answers each line with its state and serves until its input ends,
// so that it cannot outlive the bench.
func serveSink(in io.Reader, out io.Writer) error {
	questions, answers := bufio.NewScanner(in), json.NewEncoder(out)
	var c sinkConfig
	if !questions.Scan() {
		return errors.New("the sink was told nothing")
	}
	if err := json.Unmarshal(questions.Bytes(), &c); err != nil {
		return fmt.Errorf("read the sink's configuration: %w", err)
	}
	var mu sync.Mutex
	arrived := map[string]time.Time{}
	s, err := sink.New(sink.Config{NoPipelining: c.NoPipelining, Taken: func(recipients [][]byte) {
		for _, r := range recipients {
			if bytes.HasPrefix(r, []byte(watchedPrefix)) {
				mu.Lock()
				arrived[string(r)] = time.Now()
				mu.Unlock()
			}
		}
	}})
	if err != nil {
		return fmt.Errorf("make sink: %w", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(fmt.Errorf("listen: %w", err), s.Close())
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	c.Addr = ln.Addr().String()
	err = answers.Encode(c)
	for err == nil && questions.Scan() {
		mu.Lock()
		err = answers.Encode(sinkState{s.Counts().Messages, arrived})
		clear(arrived)
		mu.Unlock()
	}
	return errors.Join(err, questions.Err(), s.Close(), <-served)
}

// sinkProcess is a sink as the bench sees it.
type sinkProcess struct {
	addr string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

func startSink(c sinkConfig) (*sinkProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	s := &sinkProcess{cmd: exec.Command(self, childVerb, sinkPart)}
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start sink: %w", err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start sink: %w", err)
	}
	s.out = json.NewDecoder(out)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start sink: %w", err)
	}
	if err = json.NewEncoder(s.in).Encode(c); err == nil {
		err = s.out.Decode(&c)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("start sink: %w", err)
	}
	s.addr = c.Addr
	return s, nil
}

// state asks the sink what it has taken.
func (s *sinkProcess) state() (sinkState, error) {
	var st sinkState
	_, err := io.WriteString(s.in, "\n")
	if err == nil {
		err = s.out.Decode(&st)
	}
	if err != nil {
		return st, fmt.Errorf("ask the sink: %w", err)
	}
	return st, nil
}

// await returns when the sink has taken so many messages in all.
func (s *sinkProcess) await(messages int64, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		st, err := s.state()
		if err != nil || st.Messages >= messages {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the sink has taken %d of %d messages after %s", st.Messages, messages, patience)
		}
	}
}

func (s *sinkProcess) stop() {
	s.in.Close()
	_ = s.cmd.Wait() // it has nothing left to say
}
