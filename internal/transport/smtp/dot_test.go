package smtp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport/smtp"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// B36: no readable answer to the final dot. The hop may have stored the
// message or not; both look the same, and neither may be sent again.
func TestNoAnswerToTheFinalDot(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	for _, tc := range []struct {
		name   string
		do     transporttest.Action
		silent bool
	}{
		{"dropped", transporttest.Action{Drop: true}, false},
		{"reset", transporttest.Action{Reset: true}, false},
		{"half a line", transporttest.Action{Raw: "250 2.0.0 acc", Close: true}, false},
		{"half a reply", transporttest.Action{Raw: "250-2.0.0 accepted\r\n", Close: true}, false},
		{"no code", transporttest.Action{Raw: "OK\r\n"}, false},
		{"two codes", transporttest.Action{Raw: "250-yes\r\n550 no\r\n"}, false},
		{"a first digit out of range", transporttest.Action{Raw: "650 yes\r\n"}, false},
		{"intermediate", transporttest.Action{Raw: "354 go on\r\n"}, false},
		{"silence", transporttest.Action{Hold: never}, true},
		{"slow drip", transporttest.Action{Raw: "2"}, true},
		{"endless", transporttest.Action{Raw: strings.Repeat("250-more\r\n", 8<<10)}, false},
	} {
		for _, stored := range []bool{true, false} {
			t.Run(tc.name, func(t *testing.T) {
				tc.do.Keep = stored
				hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
					{At: transporttest.StepRcpt, Recipient: "gone@rcv.test", Do: transporttest.Answer("550 5.1.1 no such user")},
					{At: transporttest.StepDot, Times: 1, Do: tc.do},
				}})
				tr := dial(t, hop, oneConnection, func(c *smtp.Config) {
					if tc.silent {
						c.Timeouts.Dot = short
					}
				})
				out, w := send(t, tr, envelope("a@rcv.test", "gone@rcv.test", "b@rcv.test"))
				// What RCPT said stays certain.
				wantClasses(t, out, postledger.OutcomeUnknown, postledger.OutcomeRefused, postledger.OutcomeUnknown)
				if out[0].Reason != postledger.ReasonNoAnswer || out[0].Phase != postledger.PhaseDot || w.Answer() != nil {
					t.Errorf("outcome %+v, answered %v", out[0], w.Answer())
				}
				// The connection is never used again.
				out, _ = send(t, tr, envelope())
				wantClasses(t, out, postledger.OutcomeAccepted)
				if n := hop.Connections(); n != 2 {
					t.Errorf("%d connections, want 2", n)
				}
			})
		}
	}
}

// B36: a late answer within the limit is a certain answer, and the caller's
// context cannot end the wait for it.
func TestLateAnswer(t *testing.T) {
	for _, reply := range []string{"250 2.0.0 stored", "451 4.3.0 not stored"} {
		ctx, cancel := context.WithCancel(context.Background())
		release := make(chan struct{})
		hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepDot, Do: transporttest.Action{Hook: cancel, Hold: release, Reply: reply}},
		}})
		tr := dial(t, hop)
		e, w := envelope(), transporttest.NewWire(t)
		done := make(chan []postledger.Outcome)
		go func() { done <- tr.Send(ctx, e, w) }()
		<-ctx.Done()
		select {
		case out := <-done:
			t.Fatalf("gave up waiting: %v", out)
		default:
			close(release)
		}
		out := <-done
		transporttest.CheckOutcomes(t, e, w, out)
		if !out[0].Class.Certain() || out[0].Code == 0 {
			t.Errorf("%q became %v", reply, out[0])
		}
	}
}

// Before the dot nothing can be accepted, whatever breaks.
func TestBrokenBeforeTheDot(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	drop, reset, silence := transporttest.Action{Drop: true}, transporttest.Action{Reset: true}, transporttest.Action{Hold: never}
	garbage := transporttest.Action{Raw: "what?\r\n"}
	for _, tc := range []struct {
		name  string
		at    transporttest.Step
		do    transporttest.Action
		class postledger.OutcomeClass
		phase postledger.Phase
	}{
		{"greeting dropped", transporttest.StepGreeting, drop, postledger.OutcomeUnavailable, postledger.PhaseGreeting},
		{"greeting silent", transporttest.StepGreeting, silence, postledger.OutcomeUnavailable, postledger.PhaseGreeting},
		{"greeting garbage", transporttest.StepGreeting, garbage, postledger.OutcomeUnavailable, postledger.PhaseGreeting},
		{"greeting slow", transporttest.StepGreeting, transporttest.Action{Raw: "220"}, postledger.OutcomeUnavailable, postledger.PhaseGreeting},
		{"hello dropped", transporttest.StepHello, drop, postledger.OutcomeUnavailable, postledger.PhaseHello},
		{"hello silent", transporttest.StepHello, silence, postledger.OutcomeUnavailable, postledger.PhaseHello},
		{"mail dropped", transporttest.StepMail, drop, postledger.OutcomeUnavailable, postledger.PhaseMail},
		{"mail reset", transporttest.StepMail, reset, postledger.OutcomeUnavailable, postledger.PhaseMail},
		{"mail silent", transporttest.StepMail, silence, postledger.OutcomeUnavailable, postledger.PhaseMail},
		{"mail garbage", transporttest.StepMail, garbage, postledger.OutcomeUnavailable, postledger.PhaseMail},
		{"mail answered 354", transporttest.StepMail, transporttest.Action{Raw: "354 go\r\n"}, postledger.OutcomeUnavailable, postledger.PhaseMail},
		{"rcpt dropped", transporttest.StepRcpt, drop, postledger.OutcomeDeferred, postledger.PhaseRcpt},
		{"rcpt silent", transporttest.StepRcpt, silence, postledger.OutcomeDeferred, postledger.PhaseRcpt},
		{"data dropped", transporttest.StepData, drop, postledger.OutcomeDeferred, postledger.PhaseData},
		{"data silent", transporttest.StepData, silence, postledger.OutcomeDeferred, postledger.PhaseData},
		{"data answered 250", transporttest.StepData, transporttest.Action{Raw: "250 ok\r\n"}, postledger.OutcomeDeferred, postledger.PhaseData},
		{"data half a line", transporttest.StepData, transporttest.Action{Raw: "354 g", Close: true}, postledger.OutcomeDeferred, postledger.PhaseData},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			hop := transporttest.NewHop(t, transporttest.HopConfig{
				Extensions: []string{}, // one command a round trip: each step has its own fate
				Rules:      []transporttest.Rule{{At: tc.at, Do: tc.do}},
			})
			tr := dial(t, hop, func(c *smtp.Config) {
				if tc.do.Hold == nil && tc.do.Raw != "220" {
					return
				}
				switch tc.at {
				case transporttest.StepGreeting:
					c.Timeouts.Greeting = short
				case transporttest.StepHello:
					c.Timeouts.Hello = short
				case transporttest.StepMail:
					c.Timeouts.Mail = short
				case transporttest.StepRcpt:
					c.Timeouts.Rcpt = short
				case transporttest.StepData:
					c.Timeouts.Data = short
				}
			})
			out, w := send(t, tr, envelope())
			if o := out[0]; o.Class != tc.class || o.Phase != tc.phase {
				t.Errorf("got %v, want %v at %v", o, tc.class, tc.phase)
			}
			if w.WasBegun() {
				t.Error("begun")
			}
			wantAccepted(t, hop, 0)
		})
	}
}

// A large message is streamed: a hop that stops reading it is found out before
// the dot, and its last words count.
func TestBrokenInsideALargeMessage(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	for _, tc := range []struct {
		name  string
		do    transporttest.Action
		class postledger.OutcomeClass
	}{
		{"dropped", transporttest.Action{Drop: true}, postledger.OutcomeDeferred},
		{"stops reading", transporttest.Action{Hold: never}, postledger.OutcomeDeferred},
		{"too big", transporttest.Action{Raw: "552 5.3.4 too big\r\n", Close: true}, postledger.OutcomeRefused},
		{"goodbye", transporttest.Action{Raw: "421 4.3.2 bye\r\n", Close: true}, postledger.OutcomeThrottled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{{At: transporttest.StepBody, Do: tc.do}}})
			tr := dial(t, hop, func(c *smtp.Config) {
				if tc.do.Hold != nil {
					c.Timeouts.Block = short
				}
			})
			e := envelope()
			e.Message = transporttest.Bytes(bytes.Repeat([]byte(strings.Repeat("x", 76)+"\r\n"), 400_000))
			out, w := send(t, tr, e)
			wantClasses(t, out, tc.class)
			if w.WasBegun() {
				t.Error("begun")
			}
		})
	}
}

// When the worker has lost its right to send, the dot must not leave.
func TestNoLeaveToWriteTheDot(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	tr := dial(t, hop)
	e, w := envelope(), transporttest.NewWire(t)
	w.OnBegun = func() error { return errors.New("lease lost") }
	out := tr.Send(context.Background(), e, w)
	wantClasses(t, out, postledger.OutcomeReturned)
	if !strings.Contains(out[0].Text, "lease lost") {
		t.Errorf("text %q", out[0].Text)
	}
	hop.Close()
	wantAccepted(t, hop, 0)
}

// At the moment of Begun the hop cannot have the message; it has it right after.
func TestBegunComesBeforeTheDot(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	tr := dial(t, hop)
	for _, size := range []int{1, 100, 32 << 10, 32<<10 - 3, 32<<10 - 5, 100_000} {
		e, w := envelope(), transporttest.NewWire(t)
		before := len(hop.Accepted())
		e.Message = transporttest.Bytes(bytes.Repeat([]byte("0123456789abcdef\r\n"), size/18+1))
		w.OnBegun = func() error {
			if n := len(hop.Accepted()); n != before {
				t.Errorf("size %d: accepted before begun", size)
			}
			return nil
		}
		out := tr.Send(context.Background(), e, w)
		wantClasses(t, out, postledger.OutcomeAccepted)
		wantAccepted(t, hop, before+1)
	}
}

// brokenMessage fails, or is shorter than it says.
type brokenMessage struct {
	size int64
	err  error
}

func (m brokenMessage) Size() int64 { return m.size }

func (m brokenMessage) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write([]byte("Subject: x\r\n\r\nhalf"))
	return int64(n), errors.Join(err, m.err)
}

// A message that cannot be read to its end is never ended with a dot.
func TestUnreadableMessage(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	tr := dial(t, hop)
	for _, m := range []brokenMessage{{18, errors.New("attachment lost")}, {1000, nil}} {
		e := envelope()
		e.Message = m
		out, w := send(t, tr, e)
		wantClasses(t, out, postledger.OutcomeDeferred)
		if w.WasBegun() {
			t.Error("begun")
		}
	}
	hop.Close()
	wantAccepted(t, hop, 0)
}
