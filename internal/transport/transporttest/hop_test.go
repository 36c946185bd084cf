package transporttest_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// talk writes each text and reads lines until one is the end of a reply.
func talk(t *testing.T, hop *transporttest.Hop, texts ...string) {
	t.Helper()
	c, err := net.Dial("tcp", hop.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := transport.NewReplyReader(bufio.NewReader(c))
	for i := 0; ; i++ {
		if _, err := r.Read(); err != nil {
			t.Fatal(err)
		}
		if i == len(texts) {
			return
		}
		if _, err := c.Write([]byte(texts[i])); err != nil {
			t.Fatal(err)
		}
	}
}

// The hop must see what a client may never do, or tests that rely on it prove
// nothing.
func TestHopNotesFaults(t *testing.T) {
	const mail, rcpt = "MAIL FROM:<a@send.test>\r\n", "RCPT TO:<b@rcv.test>\r\n"
	for _, tc := range []struct {
		name       string
		extensions []string
		texts      []string
		fault      string
	}{
		{"nothing wrong", nil, []string{"EHLO x\r\n", mail, rcpt, "DATA\r\n", "a\r\n..\r\n.\r\n"}, ""},
		{"bare LF", nil, []string{"EHLO x\r\n", mail, rcpt, "DATA\r\n", "a\nb\r\n.\r\n"}, "bare CR or LF in the message"},
		{"bare CR", nil, []string{"EHLO x\r\n", mail, rcpt, "DATA\r\n", "a\rb\r\n.\r\n"}, "bare CR or LF in the message"},
		{"long line", nil, []string{"EHLO x\r\n", mail, rcpt, "DATA\r\n", strings.Repeat("x", 999) + "\r\n.\r\n"}, "line of 999 bytes"},
		{"bytes after the dot", nil, []string{"EHLO x\r\n", mail, rcpt, "DATA\r\n", "a\r\n.\r\nRSET\r\n"}, "bytes after the final dot"},
		{"bare LF in a command", nil, []string{"EHLO x\n"}, "bare CR, LF or NUL"},
		{"nested MAIL", nil, []string{"EHLO x\r\n", mail, mail}, "nested MAIL"},
		{"group without PIPELINING", []string{}, []string{"EHLO x\r\n", mail + rcpt}, "in the same write"},
		{"DATA inside a group", nil, []string{"EHLO x\r\n", mail + rcpt + "DATA\r\nRSET\r\n"}, "in the same write"},
		{"AUTH in clear text", nil, []string{"EHLO x\r\n", "AUTH PLAIN AGEAYg==\r\n"}, "AUTH in clear text"},
		{"unknown command", nil, []string{"EHLO x\r\n", "WHAT\r\n"}, "unknown command"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hop := transporttest.NewHop(t, transporttest.HopConfig{Extensions: tc.extensions})
			talk(t, hop, tc.texts...)
			hop.Close()
			faults := strings.Join(hop.TakeFaults(), "\n")
			if tc.fault == "" && faults != "" || !strings.Contains(faults, tc.fault) {
				t.Errorf("faults %q, want %q", faults, tc.fault)
			}
		})
	}
}

func TestHopScript(t *testing.T) {
	var before int
	var hop *transporttest.Hop
	hop = transporttest.NewHop(t, transporttest.HopConfig{
		OnAccept: func(a transporttest.Acceptance) {
			before = len(hop.Accepted())
			if string(a.Data) != "a\r\n.\r\n" {
				t.Errorf("accepted %q", a.Data)
			}
		},
		Rules: []transporttest.Rule{
			{At: transporttest.StepRcpt, Times: 1, Do: transporttest.Answer("450 once")},
			{At: transporttest.StepRcpt, Recipient: "B@rcv.test", Do: transporttest.Answer("550 never")},
		},
	})
	talk(
		t, hop, "EHLO x\r\n", "MAIL FROM:<a@send.test>\r\n", "RCPT TO:<a@rcv.test>\r\n", "RCPT TO:<b@rcv.test>\r\n",
		"RCPT TO:<c@rcv.test>\r\n", "DATA\r\n", "a\r\n..\r\n.\r\n",
	)
	got := hop.Accepted()
	if len(got) != 1 || before != 0 || strings.Join(got[0].Recipients, " ") != "c@rcv.test" {
		t.Errorf("accepted %+v", got)
	}
}

// recorder notes failures in place of failing.
type recorder struct {
	testing.TB
	errs []string
}

func (r *recorder) Helper()                      {}
func (r *recorder) Error(args ...any)            { r.errs = append(r.errs, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.errs = append(r.errs, fmt.Sprintf(f, args...)) }
func (r *recorder) Fatalf(f string, args ...any) { r.Errorf(f, args...) }
func (r *recorder) has(part string) bool         { return strings.Contains(strings.Join(r.errs, "\n"), part) }

func class(c postledger.OutcomeClass) postledger.Outcome {
	return postledger.Outcome{Class: c, Reason: transport.ReasonOf(c)}
}

// Every way to break the contract is noticed.
func TestChecksNoticeBreaches(t *testing.T) {
	accepted, unknown := class(postledger.OutcomeAccepted), class(postledger.OutcomeUnknown)
	begun := func(w *transporttest.Wire) { _ = w.Begun(nil) }
	told := func(known ...postledger.Outcome) func(*transporttest.Wire) {
		return func(w *transporttest.Wire) { _ = w.Begun(known) }
	}
	answered := func(o postledger.Outcome) func(*transporttest.Wire) {
		return func(w *transporttest.Wire) { w.Answered([]postledger.Outcome{o}) }
	}
	bad := accepted
	bad.Text = "two\nlines"
	leak := accepted
	leak.Text = "to A@RCV.TEST"
	odd := accepted
	odd.Reason = postledger.ReasonDeferred
	for _, tc := range []struct {
		calls []func(*transporttest.Wire)
		out   postledger.Outcome
		want  string
	}{
		{[]func(*transporttest.Wire){begun, answered(accepted)}, accepted, ""},
		{[]func(*transporttest.Wire){begun}, unknown, ""},
		{nil, class(postledger.OutcomeReturned), ""},
		{nil, accepted, "Begun was never called"},
		{nil, unknown, "Begun was never called"},
		{[]func(*transporttest.Wire){begun}, accepted, "Answered was never called"},
		{[]func(*transporttest.Wire){begun, begun}, unknown, "called 2 times"},
		{[]func(*transporttest.Wire){begun, answered(accepted), answered(accepted)}, accepted, "called 2 times"},
		{[]func(*transporttest.Wire){answered(accepted), begun}, accepted, "without Wire.Begun"},
		{[]func(*transporttest.Wire){begun, answered(unknown)}, unknown, "uncertain outcome"},
		{[]func(*transporttest.Wire){begun, answered(accepted)}, unknown, "an outcome is unknown"},
		{[]func(*transporttest.Wire){begun, answered(accepted)}, class(postledger.OutcomeDeferred), "was told"},
		{[]func(*transporttest.Wire){told(transport.InDoubt()), answered(accepted)}, accepted, ""},
		{[]func(*transporttest.Wire){told(accepted), answered(accepted)}, accepted, "accepted before"},
		{[]func(*transporttest.Wire){told(class(postledger.OutcomeRefused)), answered(accepted)}, accepted, "ended as"},
		{[]func(*transporttest.Wire){told(class(postledger.OutcomeRefused))}, class(postledger.OutcomeRefused), "no recipient was in doubt"},
		{[]func(*transporttest.Wire){told(unknown, unknown)}, unknown, "2 outcomes for 1"},
		{[]func(*transporttest.Wire){begun, answered(bad)}, bad, "one bounded line"},
		{[]func(*transporttest.Wire){begun, answered(leak)}, leak, "holds the address"},
		{[]func(*transporttest.Wire){begun, answered(odd)}, odd, "with reason"},
	} {
		r := &recorder{TB: t}
		w := transporttest.NewWire(r)
		for _, call := range tc.calls {
			call(w)
		}
		transporttest.CheckOutcomes(r, &transport.Envelope{Recipients: []string{"a@rcv.test"}}, w, []postledger.Outcome{tc.out})
		if tc.want == "" && len(r.errs) > 0 || !r.has(tc.want) {
			t.Errorf("%v: noticed %q, want %q", tc.out, r.errs, tc.want)
		}
	}
	w := transporttest.NewWire(t)
	w.OnBegun = func() error { return errors.New("no") }
	if w.Begun(nil) == nil {
		t.Error("OnBegun does not decide")
	}
}
