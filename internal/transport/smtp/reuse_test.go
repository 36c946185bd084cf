package smtp_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport/smtp"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// B32: the hop ends each connection after ten messages. Nothing fails, nothing
// waits, every message is accepted once.
func TestHopEndsConnectionAfterTenMessages(t *testing.T) {
	const bye = "421 4.3.2 bye"
	for _, tc := range []struct {
		name string
		rule transporttest.Rule
	}{
		{"as the reply to MAIL", transporttest.Rule{At: transporttest.StepMail, Message: 11, Do: transporttest.Goodbye(bye)}},
		{"dropped at MAIL", transporttest.Rule{At: transporttest.StepMail, Message: 11, Do: transporttest.Action{Drop: true}}},
		{"reset at MAIL", transporttest.Rule{At: transporttest.StepMail, Message: 11, Do: transporttest.Action{Reset: true}}},
		{"as the reply to RCPT", transporttest.Rule{At: transporttest.StepRcpt, Message: 11, Do: transporttest.Goodbye(bye)}},
		{"as the reply to DATA", transporttest.Rule{At: transporttest.StepData, Message: 11, Do: transporttest.Goodbye(bye)}},
		{"dropped at DATA", transporttest.Rule{At: transporttest.StepData, Message: 11, Do: transporttest.Action{Drop: true}}},
		{"after the 354", transporttest.Rule{At: transporttest.StepData, Message: 11, Do: transporttest.Action{Raw: "354 go\r\n" + bye + "\r\n", Close: true}}},
		{"as the reply to the final dot", transporttest.Rule{At: transporttest.StepDot, Message: 11, Do: transporttest.Goodbye(bye)}},
		{"unasked, in the same packet", transporttest.Rule{At: transporttest.StepDot, Message: 10, Do: transporttest.Goodbye("250 2.0.0 ok\n" + bye)}},
	} {
		for _, extensions := range [][]string{nil, {}} {
			t.Run(fmt.Sprintf("%s, pipelining %v", tc.name, extensions == nil), func(t *testing.T) {
				hop := transporttest.NewHop(t, transporttest.HopConfig{
					Rules: []transporttest.Rule{tc.rule}, Extensions: extensions,
				})
				tr := dial(t, hop, oneConnection)
				for range 100 {
					out, _ := send(t, tr, envelope())
					wantClasses(t, out, postledger.OutcomeAccepted)
				}
				wantAccepted(t, hop, 100)
				if n := hop.Connections(); n != 10 {
					t.Errorf("%d connections for 100 messages, want 10", n)
				}
			})
		}
	}
}

// B32: goodbye comes unasked while the connection is idle.
func TestHopEndsIdleConnection(t *testing.T) {
	for _, text := range []string{"421 4.3.2 bye\r\n", "", "250 stray\r\n", "gar"} {
		hop := transporttest.NewHop(t, transporttest.HopConfig{})
		tr := dial(t, hop, oneConnection)
		for range 3 {
			out, _ := send(t, tr, envelope())
			wantClasses(t, out, postledger.OutcomeAccepted)
			hop.Say(text)
		}
		wantAccepted(t, hop, 3)
		if n := hop.Connections(); n != 3 {
			t.Errorf("%q: %d connections, want 3", text, n)
		}
	}
}

// What a hop says while the connection is idle is not the answer to MAIL, even
// if it looks like a refusal.
func TestRefusalWhileIdle(t *testing.T) {
	for _, extensions := range [][]string{nil, {}} {
		hop := transporttest.NewHop(t, transporttest.HopConfig{Extensions: extensions})
		now := &clock{now: time.Now()}
		var last net.Conn
		tr := dial(t, hop, oneConnection, func(c *smtp.Config) {
			c.Now = now.Now
			c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				var err error
				last, err = new(net.Dialer).DialContext(ctx, network, addr)
				return last, err
			}
		})
		for range 3 {
			out, _ := send(t, tr, envelope())
			wantClasses(t, out, postledger.OutcomeAccepted)
			hop.Say("554 5.4.7 idle for too long\r\n")
			awaitReadable(t, last)
			now.advance(2 * time.Second)
		}
		wantAccepted(t, hop, 3)
	}
}

// awaitReadable returns when c has something to read, and leaves it there.
func awaitReadable(t *testing.T, c net.Conn) {
	t.Helper()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return err != syscall.EAGAIN
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The second connection is fresh, and the last: what it says counts.
func TestFreshConnectionOnce(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepMail, Message: 2, Do: transporttest.Goodbye("421 4.7.0 later")},
		{At: transporttest.StepMail, Conn: 3, Do: transporttest.Goodbye("421 4.7.0 later")},
	}})
	tr := dial(t, hop, oneConnection)
	for i, want := range []postledger.OutcomeClass{
		postledger.OutcomeAccepted,  // connection 1
		postledger.OutcomeAccepted,  // 1 says goodbye, 2 takes it
		postledger.OutcomeThrottled, // 2 says goodbye, 3 does too
		postledger.OutcomeAccepted,  // connection 4
	} {
		out, _ := send(t, tr, envelope())
		if out[0].Class != want {
			t.Fatalf("message %d: %v, want %v", i, out[0], want)
		}
	}
	if n := hop.Connections(); n != 4 {
		t.Errorf("%d connections, want 4", n)
	}
}

// Who was refused before the dot is not named again when the dot is answered
// 421: the record of the first try says that they were refused.
func TestASecondTryLeavesOutWhoWasRefused(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepRcpt, Conn: 1, Recipient: "gone@rcv.test", Do: transporttest.Answer("550 5.1.1 unknown")},
		{At: transporttest.StepRcpt, Conn: 1, Recipient: "full@rcv.test", Do: transporttest.Answer("452 4.2.2 full")},
		{At: transporttest.StepDot, Message: 2, Do: transporttest.Goodbye("421 4.3.2 bye")},
	}})
	tr := dial(t, hop, oneConnection)
	out, _ := send(t, tr, envelope())
	wantClasses(t, out, postledger.OutcomeAccepted)
	out, w := send(t, tr, envelope("mira@rcv.test", "gone@rcv.test", "full@rcv.test", "odd\r@rcv.test"))
	wantClasses(t, out, postledger.OutcomeAccepted, postledger.OutcomeRefused, postledger.OutcomeDeferred, postledger.OutcomeRefused)
	wantClasses(t, w.Known(), postledger.OutcomeUnknown, postledger.OutcomeRefused, postledger.OutcomeDeferred, postledger.OutcomeRefused)
	wantAccepted(t, hop, 2)
	for _, c := range hop.Commands() {
		if strings.HasPrefix(c, "2: RCPT") && !strings.Contains(c, "mira@") {
			t.Errorf("named again: %s", c)
		}
	}
}

// A second try that cannot even connect leaves a certain outcome, and the wire
// is told so: the first dot was answered 421.
func TestNoFreshConnectionAfterGoodbyeAtTheDot(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepDot, Message: 2, Do: transporttest.Goodbye("421 4.3.2 bye")},
		{At: transporttest.StepGreeting, Conn: 2, Do: transporttest.Answer("421 4.3.2 closed")},
	}})
	tr := dial(t, hop, oneConnection)
	out, _ := send(t, tr, envelope())
	wantClasses(t, out, postledger.OutcomeAccepted)
	out, w := send(t, tr, envelope())
	wantClasses(t, out, postledger.OutcomeUnavailable)
	if w.Answer() == nil {
		t.Error("the journal still says that the dot may have been accepted")
	}
	wantAccepted(t, hop, 1)
}

// A lost answer to the second dot is unknown like any other.
func TestSecondDotUnanswered(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepDot, Conn: 1, Message: 2, Do: transporttest.Goodbye("421 4.3.2 bye")},
		{At: transporttest.StepDot, Conn: 2, Do: transporttest.Action{Keep: true, Drop: true}},
	}})
	tr := dial(t, hop, oneConnection)
	out, _ := send(t, tr, envelope())
	wantClasses(t, out, postledger.OutcomeAccepted)
	out, _ = send(t, tr, envelope())
	wantClasses(t, out, postledger.OutcomeUnknown)
	wantAccepted(t, hop, 2)
	if n := hop.Connections(); n != 2 {
		t.Errorf("%d connections: it was sent again", n)
	}
}

// B33: a refused recipient leaves a transaction open; RSET goes before the next.
func TestResetBeforeTheNextMail(t *testing.T) {
	for _, tc := range []struct {
		name        string
		rules       []transporttest.Rule
		connections int
	}{
		{"RSET works", nil, 1},
		{"RSET answered 421", []transporttest.Rule{{At: transporttest.StepReset, Do: transporttest.Goodbye("421 4.3.2 bye")}}, 2},
		{"RSET answered 500", []transporttest.Rule{{At: transporttest.StepReset, Do: transporttest.Answer("500 5.5.1 what")}}, 2},
		{"RSET dropped", []transporttest.Rule{{At: transporttest.StepReset, Do: transporttest.Action{Drop: true}}}, 2},
	} {
		for _, extensions := range [][]string{nil, {}} {
			t.Run(fmt.Sprintf("%s, pipelining %v", tc.name, extensions == nil), func(t *testing.T) {
				hop := transporttest.NewHop(t, transporttest.HopConfig{
					Extensions: extensions,
					Rules: append([]transporttest.Rule{
						{At: transporttest.StepRcpt, Recipient: "gone@rcv.test", Do: transporttest.Answer("550 5.1.1 no such user")},
					}, tc.rules...),
				})
				tr := dial(t, hop, oneConnection)
				out, _ := send(t, tr, envelope("gone@rcv.test"))
				wantClasses(t, out, postledger.OutcomeRefused)
				out, _ = send(t, tr, envelope())
				wantClasses(t, out, postledger.OutcomeAccepted)
				wantAccepted(t, hop, 1)
				if n := hop.Connections(); n != tc.connections {
					t.Errorf("%d connections, want %d", n, tc.connections)
				}
			})
		}
	}
}

// A finished transaction needs no RSET.
func TestNoResetWithoutNeed(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	tr := dial(t, hop, oneConnection)
	for range 3 {
		send(t, tr, envelope())
	}
	if slices.ContainsFunc(hop.Commands(), func(c string) bool { return strings.Contains(c, "RSET") }) {
		t.Errorf("RSET was sent: %q", hop.Commands())
	}
}

func TestMessagesPerConnection(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{})
	tr := dial(t, hop, oneConnection, func(c *smtp.Config) { c.MaxMessagesPerConnection = 4 })
	for range 12 {
		send(t, tr, envelope())
	}
	wantAccepted(t, hop, 12)
	if n := hop.Connections(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
}
