package crashtest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Refused is what an address has in it that the sink refuses.
const Refused = "gone-"

// Sink is a next hop in a process of its own that has each recipient on disk
// before it answers.
type Sink struct {
	tb     testing.TB
	record string
	Port   int
}

// StartSink builds and starts one; it ends with the test. Further arguments are
// smtpsink's own.
func StartSink(tb testing.TB, args ...string) *Sink {
	tb.Helper()
	dir := tb.TempDir()
	program := filepath.Join(dir, "smtpsink")
	build := exec.Command("go", "build", "-o", program, "github.com/postledger/postledger/internal/transport/transporttest/sink/cmd/smtpsink")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build smtpsink: %v\n%s", err, out)
	}
	s := &Sink{tb: tb, record: filepath.Join(dir, "record")}
	cmd := exec.Command(program, append([]string{"-file", s.record, "-fsync", "-refuse", Refused}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	line, err := out.ReadString('\n')
	if err != nil {
		tb.Fatalf("start smtpsink: %v", err)
	}
	_, port, err := net.SplitHostPort(strings.TrimSpace(strings.TrimPrefix(line, "listening ")))
	if err != nil {
		tb.Fatal(err)
	}
	if s.Port, err = strconv.Atoi(port); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		stdin.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			tb.Errorf("smtpsink: %v", err)
		}
	})
	return s
}

// Lines is how many recipients are in the record; a line that is just being
// written does not count.
func (s *Sink) Lines() int {
	s.tb.Helper()
	return bytes.Count(s.read(), []byte{'\n'})
}

// Copies counts the record's lines of each address.
func (s *Sink) Copies() map[string]int {
	s.tb.Helper()
	n := map[string]int{}
	for line := range strings.Lines(string(s.read())) {
		fields := strings.Fields(line)
		if len(fields) != 3 || !strings.HasSuffix(line, "\n") {
			s.tb.Fatalf("line of the sink's record: %q", line)
		}
		n[fields[1]]++
	}
	return n
}

func (s *Sink) read() []byte {
	s.tb.Helper()
	b, err := os.ReadFile(s.record)
	if err != nil {
		s.tb.Fatal(err)
	}
	return b[:bytes.LastIndexByte(b, '\n')+1]
}
