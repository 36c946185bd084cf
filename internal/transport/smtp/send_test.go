package smtp_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

func TestAcceptsAndReuses(t *testing.T) {
	for _, tc := range []struct {
		name       string
		extensions []string
		rules      []transporttest.Rule
	}{
		{"pipelining", nil, nil},
		{"no extensions", []string{}, nil},
		{"HELO only", []string{}, []transporttest.Rule{
			{At: transporttest.StepHello, Contains: "EHLO", Do: transporttest.Answer("502 5.5.1 not implemented")},
		}},
		{"multi-line replies", nil, []transporttest.Rule{
			{At: transporttest.StepMail, Do: transporttest.Answer("250-2.1.0 one\n250-two\n250 2.1.0 three")},
			{At: transporttest.StepRcpt, Do: transporttest.Answer("250")},
			{At: transporttest.StepDot, Do: transporttest.Answer("250-2.0.0 queued\n250 2.0.0 as 77")},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hop := transporttest.NewHop(t, transporttest.HopConfig{Extensions: tc.extensions, Rules: tc.rules})
			tr := dial(t, hop, oneConnection)
			for range 3 {
				e := envelope("a@rcv.test", "b@rcv.test")
				out, _ := send(t, tr, e)
				wantClasses(t, out, postledger.OutcomeAccepted, postledger.OutcomeAccepted)
				if out[0].Phase != postledger.PhaseDot || out[0].Code != 250 {
					t.Errorf("outcome %+v", out[0])
				}
			}
			wantAccepted(t, hop, 3)
			if n := hop.Connections(); n != 1 {
				t.Errorf("%d connections for three messages, want 1", n)
			}
			got := hop.Accepted()[2]
			if string(got.Data) != string(transporttest.Letter()) || got.ReturnPath != "bounce@send.test" ||
				!slices.Equal(got.Recipients, []string{"a@rcv.test", "b@rcv.test"}) {
				t.Errorf("the hop got %+v, data %q", got, got.Data)
			}
		})
	}
}

// Groups stay under 4 KiB however many recipients there are.
func TestManyRecipients(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepRcpt, Recipient: long(7), Do: transporttest.Answer("550 5.1.1 no such user")},
	}})
	tr := dial(t, hop)
	rcpts := make([]string, 50)
	for i := range rcpts {
		rcpts[i] = long(i)
	}
	e := envelope(rcpts...)
	e.RequestDSN = true
	out, _ := send(t, tr, e)
	for i, o := range out {
		if want := i != 7; (o.Class == postledger.OutcomeAccepted) != want {
			t.Errorf("recipient %d: %v", i, o)
		}
	}
	wantAccepted(t, hop, 1)
	if n := len(hop.Accepted()[0].Recipients); n != 49 {
		t.Errorf("accepted for %d recipients, want 49", n)
	}
}

func long(i int) string {
	return string(rune('a'+i%26)) + string(rune('a'+i/26)) + "." + strings.Repeat("x", 50) + "@" + strings.Repeat("long.", 30) + "rcv.test"
}

func TestParameters(t *testing.T) {
	for _, tc := range []struct {
		name       string
		extensions []string
		change     func(*transport.Envelope)
		mail, rcpt string
	}{
		{
			"all offered, none needed", nil, func(*transport.Envelope) {},
			"MAIL FROM:<bounce@send.test> SIZE=99", "RCPT TO:<mira@rcv.test>",
		},
		{
			"none offered",
			[]string{},
			func(e *transport.Envelope) { e.RequestDSN = true },
			"MAIL FROM:<bounce@send.test>", "RCPT TO:<mira@rcv.test>",
		},
		{
			"null path",
			[]string{},
			func(e *transport.Envelope) { e.ReturnPath = "" },
			"MAIL FROM:<>", "RCPT TO:<mira@rcv.test>",
		},
		{
			"8 bit",
			[]string{"8BITMIME"},
			func(e *transport.Envelope) { e.Has8Bit = true },
			"MAIL FROM:<bounce@send.test> BODY=8BITMIME", "RCPT TO:<mira@rcv.test>",
		},
		{
			"dsn",
			[]string{"DSN"},
			func(e *transport.Envelope) {
				e.RequestDSN = true
				e.ID = postledger.ID{}
				e.Recipients = []string{"a+b=c@rcv.test"}
			},
			"MAIL FROM:<bounce@send.test> RET=HDRS ENVID=" + postledger.ID{}.Token(),
			"RCPT TO:<a+b=c@rcv.test> NOTIFY=FAILURE ORCPT=rfc822;a+2Bb+3Dc@rcv.test",
		},
		{
			"utf-8",
			[]string{"DSN", "SMTPUTF8"},
			func(e *transport.Envelope) {
				e.RequestDSN, e.NeedsSMTPUTF8 = true, true
				e.ID = postledger.ID{}
				e.Recipients = []string{"jürgen+x@rcv.test"}
			},
			"MAIL FROM:<bounce@send.test> SMTPUTF8 RET=HDRS ENVID=" + postledger.ID{}.Token(),
			`RCPT TO:<jürgen+x@rcv.test> NOTIFY=FAILURE ORCPT=utf-8;jürgen\x{2B}x@rcv.test`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hop := transporttest.NewHop(t, transporttest.HopConfig{Extensions: tc.extensions})
			e := envelope()
			tc.change(e)
			out, _ := send(t, dial(t, hop), e)
			wantClasses(t, out, postledger.OutcomeAccepted)
			a := hop.Accepted()[0]
			if want := strings.ReplaceAll(tc.mail, "SIZE=99", "SIZE="+strconv.Itoa(len(transporttest.Letter()))); a.Mail != want {
				t.Errorf("sent %q, want %q", a.Mail, want)
			}
			if a.Rcpts[0] != tc.rcpt {
				t.Errorf("sent %q, want %q", a.Rcpts[0], tc.rcpt)
			}
		})
	}
}

// What the hop does not offer is known before MAIL: nothing is sent, and the
// connection stays good.
func TestNotSupported(t *testing.T) {
	for _, tc := range []struct {
		name       string
		extensions []string
		change     func(*transport.Envelope)
	}{
		{"SMTPUTF8", []string{"PIPELINING"}, func(e *transport.Envelope) { e.NeedsSMTPUTF8 = true }},
		{"8BITMIME", []string{"PIPELINING"}, func(e *transport.Envelope) { e.Has8Bit = true }},
		{"SIZE", []string{"PIPELINING", "SIZE 20"}, func(*transport.Envelope) {}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hop := transporttest.NewHop(t, transporttest.HopConfig{Extensions: tc.extensions})
			tr := dial(t, hop, oneConnection)
			e := envelope()
			tc.change(e)
			out, w := send(t, tr, e)
			wantClasses(t, out, postledger.OutcomeRefused)
			if out[0].Reason != postledger.ReasonNotSupported || w.WasBegun() {
				t.Errorf("outcome %+v, begun %v", out[0], w.WasBegun())
			}
			small := envelope()
			small.Message = transporttest.Bytes("A: b\r\n\r\nc\r\n")
			out, _ = send(t, tr, small)
			wantClasses(t, out, postledger.OutcomeAccepted)
			if n := hop.Connections(); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
		})
	}
}

// "SIZE" and "SIZE 0" state no limit (RFC 1870 §4).
func TestSizeWithoutLimit(t *testing.T) {
	for _, offer := range []string{"SIZE", "SIZE 0", "SIZE nonsense"} {
		hop := transporttest.NewHop(t, transporttest.HopConfig{Extensions: []string{offer}})
		out, _ := send(t, dial(t, hop), envelope())
		wantClasses(t, out, postledger.OutcomeAccepted)
	}
}
