package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
	"github.com/postledger/postledger/internal/transport/sandbox"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

func open(tb testing.TB, cfg sandbox.Config) *sandbox.Transport {
	tb.Helper()
	s, err := sandbox.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func envelope(recipients ...string) *transport.Envelope {
	return &transport.Envelope{
		ID: new(postledger.IDSource).Next(time.Now()), ReturnPath: "bounce@send.test",
		Recipients: recipients, Message: transporttest.Letter(),
	}
}

func send(tb testing.TB, s *sandbox.Transport, e *transport.Envelope) ([]postledger.Outcome, *transporttest.Wire) {
	tb.Helper()
	w := transporttest.NewWire(tb)
	out := s.Send(context.Background(), e, w)
	transporttest.CheckOutcomes(tb, e, w, out)
	return out, w
}

func TestContract(t *testing.T) {
	details := map[transporttest.Behaviour]string{
		transporttest.RefusesRecipient: "rejected", transporttest.DefersRecipient: "deferred",
		transporttest.Throttles: "421", transporttest.BreaksEarly: "timeout",
		transporttest.HoldsEarly: "slow", transporttest.LosesSilently: "unknown",
	}
	transporttest.Run(t, func(tb testing.TB, b transporttest.Behaviour) *transporttest.Subject {
		held := make(chan struct{})
		s := open(tb, sandbox.Config{After: func(time.Duration) <-chan time.Time {
			close(held)
			return nil
		}})
		subject := &transporttest.Subject{
			Transport: s, Recipients: []string{"a@rcv.test", "b@rcv.test", "c@rcv.test"},
			Held: held, Release: func() {},
			Took: func() [][]string {
				var took [][]string
				page, _ := s.List(0, 1000)
				for _, m := range slices.Backward(page) {
					took = append(took, m.Recipients)
				}
				return took
			},
		}
		if d := details[b]; d != "" {
			subject.Recipients[1] = "b+" + d + "@rcv.test"
		}
		return subject
	},
		transporttest.RefusesMessage, transporttest.DefersMessage, transporttest.RefusesLogin, transporttest.Unreachable,
		transporttest.TakesSilently, transporttest.AnswersHalf, transporttest.AnswersGarbage, transporttest.AnswersLate,
	)
}

func TestMagicRecipients(t *testing.T) {
	for _, tc := range []struct {
		addr  string
		class postledger.OutcomeClass
		phase postledger.Phase
		code  int
	}{
		{"a@rcv.test", postledger.OutcomeAccepted, postledger.PhaseDot, 250},
		{"a+tag@rcv.test", postledger.OutcomeAccepted, postledger.PhaseDot, 250},
		{"a+rejected+tag@rcv.test", postledger.OutcomeAccepted, postledger.PhaseDot, 250},
		{"a+250@rcv.test", postledger.OutcomeAccepted, postledger.PhaseDot, 250},
		{"a+354@rcv.test", postledger.OutcomeAccepted, postledger.PhaseDot, 250},
		{"a+4500@rcv.test", postledger.OutcomeAccepted, postledger.PhaseDot, 250},
		{"a+45x@rcv.test", postledger.OutcomeAccepted, postledger.PhaseDot, 250},
		{"rejected@rcv.test", postledger.OutcomeAccepted, postledger.PhaseDot, 250},
		{"a+rejected@rcv.test", postledger.OutcomeRefused, postledger.PhaseRcpt, 550},
		{"a+tag+REJECTED@rcv.test", postledger.OutcomeRefused, postledger.PhaseRcpt, 550},
		{`"a b+rejected"@rcv.test`, postledger.OutcomeRefused, postledger.PhaseRcpt, 550},
		{"a+deferred@rcv.test", postledger.OutcomeDeferred, postledger.PhaseRcpt, 451},
		{"a+timeout@rcv.test", postledger.OutcomeDeferred, postledger.PhaseData, 0},
		{"a+unknown@rcv.test", postledger.OutcomeUnknown, postledger.PhaseDot, 0},
		{"a+421@rcv.test", postledger.OutcomeThrottled, postledger.PhaseRcpt, 421},
		{"a+450@rcv.test", postledger.OutcomeDeferred, postledger.PhaseRcpt, 450},
		{"a+452@rcv.test", postledger.OutcomeDeferred, postledger.PhaseRcpt, 452},
		{"a+530@rcv.test", postledger.OutcomeMisconfigured, postledger.PhaseRcpt, 530},
		{"a+550@rcv.test", postledger.OutcomeRefused, postledger.PhaseRcpt, 550},
		{"a+599@rcv.test", postledger.OutcomeRefused, postledger.PhaseRcpt, 599},
	} {
		s := open(t, sandbox.Config{})
		e := envelope(tc.addr)
		out, _ := send(t, s, e)
		if o := out[0]; o.Class != tc.class || o.Phase != tc.phase || o.Code != tc.code {
			t.Errorf("%s: %+v (%v)", tc.addr, o, o)
		}
		_, kept := s.Get(e.ID)
		if kept != (tc.class == postledger.OutcomeAccepted) {
			t.Errorf("%s: kept %v", tc.addr, kept)
		}
	}
}

// A 452 after accepted recipients is a full transaction, as with a real hop;
// what each is told is that one's alone.
func TestRecipientsOfOneEnvelope(t *testing.T) {
	s := open(t, sandbox.Config{})
	e := envelope("a@rcv.test", "b+550@rcv.test", "c+452@rcv.test", "d@rcv.test")
	out, _ := send(t, s, e)
	for i, want := range []postledger.OutcomeClass{
		postledger.OutcomeAccepted, postledger.OutcomeRefused, postledger.OutcomeReturned, postledger.OutcomeAccepted,
	} {
		if out[i].Class != want {
			t.Errorf("recipient %d: %v, want %v", i, out[i], want)
		}
	}
	m, ok := s.Get(e.ID)
	if !ok || !slices.Equal(m.Recipients, []string{"a@rcv.test", "d@rcv.test"}) || m.ReturnPath != e.ReturnPath ||
		!bytes.Equal(m.Bytes, transporttest.Letter()) || m.Size != int64(len(m.Bytes)) {
		t.Errorf("kept %+v", m)
	}
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sandbox.Config{SlowDelay: time.Minute})
		start := time.Now()
		out, _ := send(t, s, envelope("a+slow@rcv.test"))
		if took := time.Since(start); out[0].Class != postledger.OutcomeAccepted || took != time.Minute {
			t.Errorf("%v after %v", out[0], took)
		}
	})
}

// brokenMessage is not as long as it says, or fails.
type brokenMessage struct{ err error }

func (brokenMessage) Size() int64 { return 100 }

func (m brokenMessage) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write([]byte("half"))
	return int64(n), errors.Join(err, m.err)
}

func TestUnreadableMessage(t *testing.T) {
	s := open(t, sandbox.Config{})
	for _, err := range []error{nil, errors.New("attachment lost")} {
		e := envelope("a@rcv.test")
		e.Message = brokenMessage{err}
		out, w := send(t, s, e)
		if out[0].Class != postledger.OutcomeDeferred || w.WasBegun() {
			t.Errorf("%v, begun %v", out[0], w.WasBegun())
		}
	}
}

func TestLimits(t *testing.T) {
	if _, err := sandbox.New(sandbox.Config{MaxMessages: -1}); err == nil || !strings.Contains(err.Error(), "limits") {
		t.Errorf("error %v", err)
	}
	s := open(t, sandbox.Config{MaxBytes: 100})
	e := envelope("a@rcv.test")
	e.Message = transporttest.Bytes(strings.Repeat("x", 101))
	send(t, s, e)
	if m, ok := s.Get(e.ID); !ok || !m.Truncated || m.Bytes != nil || m.Size != 101 {
		t.Errorf("too large: %v %+v", ok, m)
	}
}

// The store keeps exactly the newest messages that fit, in order, and its pages
// join without gap or overlap.
func TestKeepsTheNewest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		maxCount := rapid.IntRange(1, 6).Draw(rt, "count")
		maxBytes := rapid.Int64Range(1, 40).Draw(rt, "bytes")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 20), 0, 20).Draw(rt, "sizes")
		limit := rapid.IntRange(1, 4).Draw(rt, "limit")
		s := open(t, sandbox.Config{MaxMessages: maxCount, MaxBytes: maxBytes})
		ids := new(postledger.IDSource)
		var all []postledger.ID
		for _, n := range sizes {
			e := envelope("a@rcv.test")
			e.ID, e.Message = ids.Next(time.Now()), transporttest.Bytes(strings.Repeat("x", n))
			send(t, s, e)
			all = append(all, e.ID)
		}
		var want []postledger.ID
		total := int64(0)
		for i := len(sizes) - 1; i >= 0 && len(want) < maxCount; i-- {
			if int64(sizes[i]) <= maxBytes { // a larger one is kept without bytes
				total += int64(sizes[i])
			}
			if total > maxBytes {
				break
			}
			want = append(want, all[i])
		}
		var got []postledger.ID
		for cursor := uint64(0); ; {
			page, next := s.List(cursor, limit)
			for _, m := range page {
				got = append(got, m.Envelope)
				if m.Bytes != nil {
					rt.Fatal("a list holds bytes")
				}
			}
			if next == 0 {
				break
			}
			cursor = next
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("kept %d, want %d", len(got), len(want))
		}
		for _, id := range all {
			if _, ok := s.Get(id); ok != slices.Contains(want, id) {
				rt.Fatalf("get: %v", ok)
			}
		}
	})
}
