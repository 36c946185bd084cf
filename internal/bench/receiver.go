package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
)

// receiverPart is the part that takes webhooks.
const receiverPart = "receiver"

// receiverState is what a receiver says: where it listens, how many events it has
// taken and how many requests.
type receiverState struct {
	Addr             string
	Events, Requests int
}

// serveReceiver answers each line with its state and serves until its input ends,
// as the sink does.
func serveReceiver(in io.Reader, out io.Writer) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	var mu sync.Mutex
	events, state := map[string]struct{}{}, receiverState{Addr: ln.Addr().String()}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what is cut off comes again
		mu.Lock()
		defer mu.Unlock()
		events[r.Header.Get("Webhook-Id")] = struct{}{}
		state.Events, state.Requests = len(events), state.Requests+1
		w.WriteHeader(http.StatusNoContent)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	questions, answers := bufio.NewScanner(in), json.NewEncoder(out)
	for err == nil && questions.Scan() {
		mu.Lock()
		err = answers.Encode(state)
		mu.Unlock()
	}
	err = errors.Join(err, questions.Err(), server.Close())
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// receiverProcess is a receiver as the bench sees it.
type receiverProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startReceiver() (*receiverProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	r := &receiverProcess{cmd: exec.Command(self, childVerb, receiverPart)}
	r.cmd.Stderr = os.Stderr
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start receiver: %w", err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start receiver: %w", err)
	}
	r.out = json.NewDecoder(out)
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start receiver: %w", err)
	}
	return r, nil
}

func (r *receiverProcess) state() (receiverState, error) {
	var st receiverState
	_, err := io.WriteString(r.in, "\n")
	if err == nil {
		err = r.out.Decode(&st)
	}
	if err != nil {
		return st, fmt.Errorf("ask the receiver: %w", err)
	}
	return st, nil
}

func (r *receiverProcess) stop() {
	r.in.Close()
	_ = r.cmd.Wait() // it has nothing left to say
}
