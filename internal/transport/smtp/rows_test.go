package smtp_test

import (
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// Every kind of negative reply, on a real session. Each row is one reply at one
// step; the hop accepts all else.
func TestEveryReply(t *testing.T) {
	const (
		greeting = transporttest.StepGreeting
		hello    = transporttest.StepHello
		mail     = transporttest.StepMail
		rcpt     = transporttest.StepRcpt
		data     = transporttest.StepData
		dot      = transporttest.StepDot

		refused       = postledger.OutcomeRefused
		deferred      = postledger.OutcomeDeferred
		throttled     = postledger.OutcomeThrottled
		unavailable   = postledger.OutcomeUnavailable
		misconfigured = postledger.OutcomeMisconfigured

		recipient = postledger.ReasonRejectedRecipient
		message   = postledger.ReasonRejectedMessage
	)
	for _, tc := range []struct {
		at     transporttest.Step
		reply  string
		class  postledger.OutcomeClass
		reason postledger.Reason // "" is the class's own
	}{
		// No session.
		{greeting, "421 4.3.2 busy", unavailable, ""},
		{greeting, "450 4.3.2 busy", unavailable, ""},
		{greeting, "554 5.7.1 your address is listed", misconfigured, ""},
		{greeting, "521 5.3.2 no mail here", misconfigured, ""},
		{hello, "421 4.7.0 try again later", unavailable, ""},
		{hello, "450 4.7.1 who are you", unavailable, ""},
		{hello, "550 5.7.1 who are you", unavailable, ""},

		// Domains that take no mail.
		{rcpt, "556 5.1.10 null MX", refused, recipient},
		{rcpt, "550 5.1.2 no such domain", refused, recipient},
		{rcpt, "550 5.1.10 null MX", refused, recipient},
		{rcpt, "556 no mail", refused, recipient},

		// Slow down.
		{mail, "421 4.7.0 try again later", throttled, ""},
		{rcpt, "421 4.7.0 try again later", throttled, ""},
		{data, "421 4.3.2 closing", throttled, ""},
		{dot, "421 4.7.28 too many", throttled, ""},
		{dot, "421 5.7.32 the reply code decides", throttled, ""},
		{mail, "454 4.7.0 slow down", throttled, ""},
		{data, "454 slow down", throttled, ""},
		{dot, "454 4.7.0 slow down", throttled, ""},
		{mail, "451 4.7.0 slow down", throttled, ""},
		{dot, "450 4.7.28 too many", throttled, ""},
		{dot, "450 4.2.1 too fast", throttled, ""},
		{dot, "451 4.4.5 busy", throttled, ""},
		{data, "451 4.3.2 not now", throttled, ""},
		{rcpt, "450 4.2.1 this mailbox gets too much", deferred, ""},
		{rcpt, "451 4.7.0 try again later", deferred, ""},
		{rcpt, "450 4.7.28 too many", deferred, ""},
		{rcpt, "451 4.3.2 not now", deferred, ""},
		{rcpt, "454 4.7.0 not now", deferred, ""},

		// Our account's limit.
		{rcpt, "552 5.5.3 too many recipients today", throttled, ""},
		{rcpt, "550 5.5.3 too many recipients today", throttled, ""},
		{rcpt, "550 5.4.5 daily limit reached", throttled, ""},
		{dot, "550 5.4.5 daily limit reached", throttled, ""},

		// Greylisting, full mailboxes, full disks.
		{rcpt, "450 4.7.1 greylisted", deferred, ""},
		{rcpt, "451 4.2.0 greylisted", deferred, ""},
		{dot, "451 4.7.1 greylisted", deferred, ""},
		{rcpt, "452 4.2.2 mailbox full", deferred, ""},
		{rcpt, "452 4.5.3 too many recipients, and none was taken", deferred, ""},
		{rcpt, "552 5.2.2 mailbox full", refused, recipient},
		{rcpt, "550 5.2.2 mailbox full", refused, recipient},
		{mail, "452 4.3.1 disk full", deferred, ""},
		{rcpt, "452 4.3.1 disk full", deferred, ""},
		{dot, "452 4.3.1 disk full", deferred, ""},
		{dot, "451 4.3.0 local error", deferred, ""},
		{data, "451 4.4.1 no route", deferred, ""},

		// The sender's domain is not set up.
		{dot, "450 4.7.23 no PTR", misconfigured, ""},
		{mail, "450 4.7.24 SPF", misconfigured, ""},
		{dot, "450 4.7.26 unauthenticated", misconfigured, ""},
		{rcpt, "450 4.7.27 SPF", misconfigured, ""},
		{dot, "450 4.7.29 no TLS", misconfigured, ""},
		{dot, "450 4.7.30 no DKIM", misconfigured, ""},
		{dot, "450 4.7.31 no DMARC", misconfigured, ""},
		{dot, "450 4.7.32 not aligned", misconfigured, ""},
		{dot, "450 4.7.40 no DMARC", misconfigured, ""},
		{dot, "550 5.7.20 no passing signature", misconfigured, ""},
		{dot, "550 5.7.26 unauthenticated", misconfigured, ""},
		{rcpt, "550 5.7.27 SPF", misconfigured, ""},
		{dot, "550 5.7.29 no TLS", misconfigured, ""},
		{dot, "550 5.7.30 no DKIM", misconfigured, ""},
		{dot, "550 5.7.32 not aligned", misconfigured, ""},
		{mail, "550 5.7.515 access denied", misconfigured, ""},

		// Login demanded.
		{mail, "432 4.7.12 password transition needed", unavailable, ""},
		{mail, "530 5.7.0 authentication required", misconfigured, ""},
		{rcpt, "530 5.7.1 authentication required", misconfigured, ""},
		{mail, "523 5.7.10 encryption needed", misconfigured, ""},
		{mail, "534 5.7.9 mechanism too weak", misconfigured, ""},
		{mail, "535 5.7.8 not logged in", misconfigured, ""},
		{mail, "538 5.7.11 encryption needed", misconfigured, ""},
		{mail, "525 5.7.13 account disabled", misconfigured, ""},

		// Our return path.
		{mail, "553 5.1.7 bad sender", misconfigured, ""},
		{mail, "550 5.1.8 bad sender domain", misconfigured, ""},
		{rcpt, "550 5.1.8 bad sender domain", misconfigured, ""},
		{rcpt, "550 Sender verify failed", misconfigured, ""},
		{mail, "550 5.7.1 not yours", misconfigured, ""},
		{dot, "554 5.4.6 loop", misconfigured, ""},

		// The recipient.
		{rcpt, "550 5.1.1 unknown user", refused, recipient},
		{rcpt, "553 5.1.3 bad address", refused, recipient},
		{rcpt, "551 5.1.6 moved", refused, recipient},
		{rcpt, "550 no such user", refused, recipient},
		{rcpt, "550 4.1.1 the reply code decides", refused, recipient},
		{rcpt, "550 5.2.1 disabled", refused, recipient},
		{rcpt, "553 5.6.7 needs UTF-8", refused, recipient},
		{rcpt, "550 5.6.7 needs UTF-8", refused, recipient},
		{rcpt, "550 5.7.1 not allowed", refused, recipient},
		{rcpt, "554 refused", refused, recipient},
		{dot, "550 5.1.1 unknown user", refused, recipient},

		// The message.
		{mail, "552 5.3.4 too big", refused, message},
		{dot, "554 5.3.4 too big", refused, message},
		{rcpt, "552 5.2.3 too big for this mailbox", refused, message},
		{dot, "552 5.2.3 too big", refused, message},
		{dot, "554 5.6.0 bad content", refused, message},
		{dot, "554 5.6.9 needs conversion", refused, message},
		{dot, "550 5.7.1 looks like spam", refused, message},
		{dot, "550 refused", refused, message},
		{mail, "552 too big", refused, message},

		// We spoke badly.
		{mail, "500 5.5.2 syntax", refused, message},
		{mail, "503 5.5.1 sequence", refused, message},
		{rcpt, "501 5.5.2 syntax", refused, message},
		{rcpt, "503 5.5.1 sequence", refused, message},
		{data, "502 5.5.1 not implemented", refused, message},
		{mail, "501 5.5.4 parameter", refused, message},
		{mail, "555 5.5.4 parameter", refused, message},
		{rcpt, "555 5.5.4 parameter", refused, message},

		// The rest, by the first digit.
		{mail, "499 later", deferred, ""},
		{rcpt, "450 later", deferred, ""},
		{dot, "471 later", deferred, ""},
		{mail, "599 never", refused, message},
		{rcpt, "571 never", refused, recipient},
		{data, "554 never", refused, message},
		{dot, "599 never", refused, message},
	} {
		t.Run(string(tc.at)+" "+tc.reply, func(t *testing.T) {
			hop := transporttest.NewHop(t, transporttest.HopConfig{
				Rules: []transporttest.Rule{{At: tc.at, Do: transporttest.Answer(tc.reply)}},
			})
			out, _ := send(t, dial(t, hop), envelope())
			o := out[0]
			want := tc.reason
			if want == "" {
				want = map[postledger.OutcomeClass]postledger.Reason{
					deferred: postledger.ReasonDeferred, throttled: postledger.ReasonThrottled,
					unavailable: postledger.ReasonUnavailable, misconfigured: postledger.ReasonMisconfigured,
				}[tc.class]
			}
			if o.Class != tc.class || o.Reason != want || o.Phase.String() != string(tc.at) || o.Text == "" {
				t.Errorf("got %+v (%v, reason %q, text %q), want %v, reason %q", o, o.Class, o.Reason, o.Text, tc.class, want)
			}
			wantAccepted(t, hop, 0)
		})
	}
}

// A 4yz or 5yz to RCPT concerns that recipient; the rest of the envelope goes.
func TestRecipientsAreJudgedAlone(t *testing.T) {
	for _, extensions := range [][]string{nil, {}} {
		hop := transporttest.NewHop(t, transporttest.HopConfig{
			Extensions: extensions,
			Rules: []transporttest.Rule{
				{At: transporttest.StepRcpt, Recipient: "gone@rcv.test", Do: transporttest.Answer("550 5.1.1 <GONE@rcv.test>: no such user")},
				{At: transporttest.StepRcpt, Recipient: "grey@rcv.test", Do: transporttest.Answer("451 4.7.1 greylisted")},
				{At: transporttest.StepRcpt, Recipient: "moved@rcv.test", Do: transporttest.Answer("251 will forward")},
			},
		})
		out, _ := send(t, dial(t, hop), envelope("gone@rcv.test", "a@rcv.test", "grey@rcv.test", "moved@rcv.test"))
		wantClasses(t, out, postledger.OutcomeRefused, postledger.OutcomeAccepted, postledger.OutcomeDeferred, postledger.OutcomeAccepted)
		if want := "550 5.1.1 <{rcpt}>: no such user"; out[0].Text != want {
			t.Errorf("text %q, want %q", out[0].Text, want)
		}
		wantAccepted(t, hop, 1)
	}
}

// Several recipients cannot be blamed for what was said to the whole message.
func TestRefusalAfterDataBlamesTheMessage(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepDot, Do: transporttest.Answer("550 5.1.1 no such user")},
	}})
	out, _ := send(t, dial(t, hop), envelope("a@rcv.test", "b@rcv.test"))
	for _, o := range out {
		if o.Class != postledger.OutcomeRefused || o.Reason != postledger.ReasonRejectedMessage {
			t.Errorf("got %v, reason %q", o, o.Reason)
		}
	}
}

// A full transaction is no failure: those taken go now, the rest is free again.
func TestSplit(t *testing.T) {
	for _, reply := range []string{"452 4.5.3 too many", "452 too many", "552 too many", "552 5.5.3 too many", "552 4.5.3 too many"} {
		hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepRcpt, Recipient: "c@rcv.test", Do: transporttest.Answer(reply)},
			{At: transporttest.StepRcpt, Recipient: "d@rcv.test", Do: transporttest.Answer(reply)},
		}})
		out, _ := send(t, dial(t, hop), envelope("a@rcv.test", "b@rcv.test", "c@rcv.test", "d@rcv.test"))
		wantClasses(t, out, postledger.OutcomeAccepted, postledger.OutcomeAccepted, postledger.OutcomeReturned, postledger.OutcomeReturned)
		wantAccepted(t, hop, 1)
	}
	limited := transporttest.NewHop(t, transporttest.HopConfig{MaxRecipients: 2})
	out, _ := send(t, dial(t, limited), envelope("a@rcv.test", "b@rcv.test", "c@rcv.test"))
	wantClasses(t, out, postledger.OutcomeAccepted, postledger.OutcomeAccepted, postledger.OutcomeReturned)

	// A full mailbox among others is not a full transaction.
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepRcpt, Recipient: "b@rcv.test", Do: transporttest.Answer("452 4.2.2 full")},
		{At: transporttest.StepRcpt, Recipient: "c@rcv.test", Do: transporttest.Answer("552 5.2.2 full")},
	}})
	out, _ = send(t, dial(t, hop), envelope("a@rcv.test", "b@rcv.test", "c@rcv.test"))
	wantClasses(t, out, postledger.OutcomeAccepted, postledger.OutcomeDeferred, postledger.OutcomeRefused)
}

// With PIPELINING the 354 may come although nobody is left: a lone dot ends
// it, nothing is accepted, and the connection stays good.
func TestLoneDot(t *testing.T) {
	hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
		{At: transporttest.StepRcpt, Recipient: "gone@rcv.test", Do: transporttest.Answer("550 5.1.1 no such user")},
		{At: transporttest.StepData, Message: 1, Do: transporttest.Answer("354 go ahead all the same")},
	}})
	tr := dial(t, hop, oneConnection)
	out, w := send(t, tr, envelope("gone@rcv.test"))
	wantClasses(t, out, postledger.OutcomeRefused)
	if w.WasBegun() {
		t.Error("begun, and there was nothing to accept")
	}
	out, _ = send(t, tr, envelope())
	wantClasses(t, out, postledger.OutcomeAccepted)
	wantAccepted(t, hop, 1)
	if n := hop.Connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// A refused parameter is left out once, and from then on on that connection.
func TestRetryWithoutParameters(t *testing.T) {
	for _, tc := range []struct {
		at          transporttest.Step
		contains    string
		reply       string
		connections int
	}{
		{transporttest.StepMail, "SIZE=", "555 5.5.4 SIZE not known", 1},
		{transporttest.StepMail, "ENVID=", "501 syntax error", 1},
		{transporttest.StepMail, "RET=", "455 4.5.4 not now", 1},
		{transporttest.StepRcpt, "NOTIFY=", "555 5.5.4 NOTIFY not known", 1},
		{transporttest.StepRcpt, "b@rcv.test> NOTIFY=", "501 5.5.4 syntax", 2}, // the other was taken: 354
	} {
		t.Run(string(tc.at)+" "+tc.reply, func(t *testing.T) {
			hop := transporttest.NewHop(t, transporttest.HopConfig{Rules: []transporttest.Rule{
				{At: tc.at, Contains: tc.contains, Do: transporttest.Answer(tc.reply)},
			}})
			tr := dial(t, hop, oneConnection)
			for range 2 {
				e := envelope("a@rcv.test", "b@rcv.test")
				e.RequestDSN = true
				out, _ := send(t, tr, e)
				wantClasses(t, out, postledger.OutcomeAccepted, postledger.OutcomeAccepted)
			}
			wantAccepted(t, hop, 2)
			if n := hop.Connections(); n != tc.connections {
				t.Errorf("%d connections, want %d", n, tc.connections)
			}
		})
	}
}
