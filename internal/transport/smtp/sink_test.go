package smtp_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport/smtp"
	"github.com/postledger/postledger/internal/transport/transporttest"
	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

// at points a transport to an address.
func at(t testing.TB, addr string, change ...func(*smtp.Config)) *smtp.Transport {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	cfg := smtp.Config{Host: host, Port: n, TLS: smtp.TLSNone, HelloName: "client.test"}
	for _, f := range change {
		f(&cfg)
	}
	tr, err := smtp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

// A server of others: Postfix's smtp-sink, with what each of its options does.
func TestPostfixSink(t *testing.T) {
	for _, tc := range []struct {
		args  []string
		class postledger.OutcomeClass
		phase postledger.Phase
	}{
		{nil, postledger.OutcomeAccepted, postledger.PhaseDot},
		{[]string{"-p"}, postledger.OutcomeAccepted, postledger.PhaseDot}, // no PIPELINING
		{[]string{"-e"}, postledger.OutcomeAccepted, postledger.PhaseDot}, // no EHLO
		{[]string{"-8"}, postledger.OutcomeAccepted, postledger.PhaseDot}, // no 8BITMIME
		{[]string{"-N"}, postledger.OutcomeAccepted, postledger.PhaseDot}, // no enhanced codes
		{[]string{"-q", "."}, postledger.OutcomeUnknown, postledger.PhaseDot},
		{[]string{"-q", "CONNECT"}, postledger.OutcomeUnavailable, postledger.PhaseGreeting},
		{[]string{"-q", "MAIL"}, postledger.OutcomeUnavailable, postledger.PhaseMail},
		{[]string{"-q", "RCPT"}, postledger.OutcomeDeferred, postledger.PhaseRcpt},
		{[]string{"-q", "DATA"}, postledger.OutcomeDeferred, postledger.PhaseData},
		{[]string{"-Q", "."}, postledger.OutcomeThrottled, postledger.PhaseDot},
		{[]string{"-Q", "MAIL"}, postledger.OutcomeThrottled, postledger.PhaseMail},
		{[]string{"-r", "."}, postledger.OutcomeDeferred, postledger.PhaseDot},
		{[]string{"-r", "RCPT"}, postledger.OutcomeDeferred, postledger.PhaseRcpt},
		{[]string{"-f", "."}, postledger.OutcomeRefused, postledger.PhaseDot},
		{[]string{"-f", "RCPT"}, postledger.OutcomeRefused, postledger.PhaseRcpt},
		{[]string{"-A", "1"}, postledger.OutcomeRefused, postledger.PhaseDot}, // 550 after one byte, then closes
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			t.Parallel()
			tr := at(t, testserver.SMTPSink(t, tc.args...), oneConnection)
			for range 2 {
				e := envelope("a@rcv.test", "b@rcv.test")
				e.RequestDSN = true
				out, _ := send(t, tr, e)
				for _, o := range out {
					if o.Class != tc.class || o.Phase != tc.phase {
						t.Errorf("got %v %q, want %v at %v", o, o.Text, tc.class, tc.phase)
					}
				}
			}
		})
	}
}

func startSink(t testing.TB, cfg sink.Config) (*sink.Server, string) {
	t.Helper()
	s, err := sink.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Serve(ln); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close sink: %v", err)
		}
		wg.Wait()
	})
	return s, ln.Addr().String()
}

func recorded(t testing.TB, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// The sink's record has a line for each recipient it answered for, and for
// each message it took without an answer.
func TestSinkRecords(t *testing.T) {
	for _, fsync := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "record")
		s, addr := startSink(t, sink.Config{Record: file, Fsync: fsync, DropTaken: 7, DropLost: 5, DeferEvery: 3, DropBeforeDot: 11})
		tr := at(t, addr)
		sum := sha256.Sum256(transporttest.Letter())
		var want []string
		got := map[postledger.OutcomeClass]int{}
		for i := range 22 {
			e := envelope("a@rcv.test", "b@rcv.test")
			e.RequestDSN = i%2 == 0
			id := "-"
			if e.RequestDSN {
				id = e.ID.Token()
			}
			out, _ := send(t, tr, e)
			got[out[0].Class]++
			if n := i + 1; out[0].Class == postledger.OutcomeAccepted || n%7 == 0 {
				for _, addr := range e.Recipients {
					want = append(want, id+" "+addr+" "+hex.EncodeToString(sum[:]))
				}
			}
		}
		if lines := recorded(t, file); !slices.Equal(lines, want) {
			t.Errorf("recorded\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
		// 3 6 9 12 18 deferred (15 lost, 21 taken), 5 10 15 20 lost, 7 14 21
		// taken, 11 22 dropped before the message: the client cannot tell.
		if got[postledger.OutcomeDeferred] != 5 || got[postledger.OutcomeUnknown] != 9 || got[postledger.OutcomeAccepted] != 8 {
			t.Errorf("outcomes %v", got)
		}
		if c := s.Counts(); c.Messages != 11 || c.Recipients != 22 {
			t.Errorf("counts %+v", c)
		}
	}
}

// A message larger than any buffer, one with a Message-ID, and an empty one.
func TestSinkReadsEveryBody(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record")
	_, addr := startSink(t, sink.Config{Record: file, NoPipelining: true})
	tr := at(t, addr)
	for _, tc := range []struct{ body, id string }{
		{"Subject: x\r\nMESSAGE-ID: <abc@send.test>\r\n\r\n.\r\n..\r\n" + strings.Repeat(".dots and lines\r\n", 20_000), "abc"},
		{"Subject: x\r\n\r\nMessage-ID: <no@body.test>\r\n", "-"},
		{".\r\n", "-"},
		{"", "-"},
	} {
		e := envelope()
		e.Message = transporttest.Bytes(tc.body)
		out, _ := send(t, tr, e)
		wantClasses(t, out, postledger.OutcomeAccepted)
		lines := recorded(t, file)
		sum := sha256.Sum256([]byte(tc.body))
		if got, want := lines[len(lines)-1], tc.id+" mira@rcv.test "+hex.EncodeToString(sum[:]); got != want {
			t.Errorf("recorded %q, want %q", got, want)
		}
	}
}

// program is cmd/smtpsink running as a process of its own.
type program struct {
	cmd   *exec.Cmd
	addr  string
	stdin io.Closer
	out   *bufio.Reader
}

func buildSink(t testing.TB) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "smtpsink")
	if out, err := exec.Command("go", "build", "-o", bin, "github.com/postledger/postledger/internal/transport/transporttest/sink/cmd/smtpsink").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

func runSink(t testing.TB, bin string, args ...string) *program {
	t.Helper()
	cmd := exec.Command(bin, args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{cmd: cmd, stdin: stdin, out: bufio.NewReader(stdout)}
	if _, err := fmt.Fscanf(p.out, "listening %s\n", &p.addr); err != nil {
		t.Fatalf("read address: %v", err)
	}
	return p
}

// end stops it and returns its counts and the CPU time it used.
func (p *program) end(t testing.TB) (sink.Counts, time.Duration) {
	t.Helper()
	p.stdin.Close()
	var c sink.Counts
	b, err := io.ReadAll(p.out)
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(b)).Decode(&c)
	}
	if werr := p.cmd.Wait(); err != nil || werr != nil {
		t.Fatalf("end: %v, %v, output %q", err, werr, b)
	}
	return c, p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

func TestSinkProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record")
	p := runSink(t, buildSink(t), "-file", file, "-fsync", "-pipelining=false", "-throttle", "2", "-late-every", "3", "-late", "1ms")
	tr := at(t, p.addr, oneConnection)
	var got []postledger.OutcomeClass
	for range 4 {
		out, _ := send(t, tr, envelope())
		got = append(got, out[0].Class)
	}
	accepted, throttled := postledger.OutcomeAccepted, postledger.OutcomeThrottled
	if want := []postledger.OutcomeClass{accepted, throttled, accepted, throttled}; !slices.Equal(got, want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
	if c, _ := p.end(t); c.Messages != 2 || c.Connections != 1 {
		t.Errorf("counts %+v", c)
	}
	if n := len(recorded(t, file)); n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
}
