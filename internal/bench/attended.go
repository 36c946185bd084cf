package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"

	"github.com/postledger/postledger/internal/bench/cost"
)

// The attended parts run until they are told to end.
const (
	servePart   = "serve"   // a whole server, which says where it listens
	deliverPart = "deliver" // a worker alone
)

// running is an attended part at work.
type running struct {
	where string
	stop  func() error
}

func attendedParts() map[string]func(*job) (running, error) {
	return map[string]func(*job) (running, error){servePart: serve, deliverPart: deliverUntilTold}
}

// again makes an attended part forget what it has used so far.
const again = "again\n"

// runAttended reads a job, starts the part, says where it is, and answers with
// what it used once an empty line comes in.
func runAttended(start func(*job) (running, error), in io.Reader, out io.Writer) (err error) {
	lines := bufio.NewReader(in)
	first, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	var j job
	if err := json.Unmarshal(first, &j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	at, err := start(&j)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer func() { err = errors.Join(err, at.stop()) }()
	m, err := startMeter(j.URL)
	if err != nil {
		return err
	}
	if j.Profile != "" {
		f, err := os.Create(j.Profile)
		if err != nil {
			return fmt.Errorf("create profile: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("start profile: %w", err)
		}
	}
	fmt.Fprintln(out, at.where)
	line, waited := lines.ReadString('\n')
	for waited == nil && line == again {
		if m, err = startMeter(j.URL); err != nil {
			return err
		}
		fmt.Fprintln(out, at.where)
		line, waited = lines.ReadString('\n')
	}
	pprof.StopCPUProfile()
	r, err := m.stop()
	if err := errors.Join(waited, err); err != nil {
		return err
	}
	if r.Peak, err = cost.PeakKiB(); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// attended is such a part as the bench sees it.
type attended struct {
	where string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
}

func startAttended(part string, j *job) (*attended, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if err := os.MkdirAll(j.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("start %s: %w", part, err)
	}
	a := &attended{cmd: exec.Command(self, childVerb, part)}
	a.cmd.Stderr = os.Stderr
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", part, err)
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", part, err)
	}
	if err := a.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", part, err)
	}
	a.out = bufio.NewReader(out)
	if err = json.NewEncoder(a.in).Encode(j); err == nil {
		a.where, err = a.out.ReadString('\n')
		a.where = strings.TrimSpace(a.where)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", part, err), a.end())
	}
	return a, nil
}

// warm begins to measure anew: what came before was to warm the part up.
func (a *attended) warm() error {
	_, err := io.WriteString(a.in, again)
	if err == nil {
		_, err = a.out.ReadString('\n')
	}
	if err != nil {
		return fmt.Errorf("measure anew: %w", err)
	}
	return nil
}

// finish asks what the part has used since its start, and ends it.
func (a *attended) finish() (r result, err error) {
	if _, err = io.WriteString(a.in, "\n"); err == nil {
		err = json.NewDecoder(a.out).Decode(&r)
	}
	if err != nil {
		err = fmt.Errorf("ask what was used: %w", err)
	}
	return r, errors.Join(err, a.end())
}

// end ends the part without a question.
func (a *attended) end() error {
	a.in.Close()
	return a.cmd.Wait()
}
