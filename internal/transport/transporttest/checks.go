package transporttest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

type suite struct {
	factory Factory
	lacks   map[Behaviour]bool
	ids     *postledger.IDSource
}

func newSuite(f Factory, lacks []Behaviour) *suite {
	s := &suite{factory: f, lacks: make(map[Behaviour]bool), ids: new(postledger.IDSource)}
	for _, b := range lacks {
		s.lacks[b] = true
	}
	return s
}

func (s *suite) subject(t *testing.T, b Behaviour) *Subject {
	t.Helper()
	sub := s.factory(t, b)
	want := 3
	if sub.Transport.Capabilities().OneRecipientPerEnvelope {
		want = 1
	}
	if len(sub.Recipients) != want {
		t.Fatalf("%d recipients, want %d", len(sub.Recipients), want)
	}
	return sub
}

func (s *suite) envelope(sub *Subject) *transport.Envelope {
	return &transport.Envelope{
		ID: s.ids.Next(time.Now()), ReturnPath: "bounce@send.test",
		Recipients: slices.Clone(sub.Recipients), Message: Letter(),
	}
}

// one is the index of the recipient a behaviour may single out.
func (sub *Subject) one() int { return len(sub.Recipients) / 2 }

func (s *suite) behaves(t *testing.T, b Behaviour) {
	sub := s.subject(t, b)
	switch b {
	case HoldsEarly:
		s.returnsWhenContextEnds(t, sub)
		return
	case AnswersLate:
		s.waitsForTheAnswer(t, sub)
		return
	}
	e, w := s.envelope(sub), NewWire(t)
	out := sub.Transport.Send(context.Background(), e, w)
	CheckOutcomes(t, e, w, out)

	all, single := expectation(b)
	for i, o := range out {
		want := all
		if i == sub.one() && single != nil {
			want = *single
		}
		if o.Class != want {
			t.Errorf("recipient %d: %v, want %v", i, o, want)
		}
		if b == RefusesRecipient && i == sub.one() && o.Reason != postledger.ReasonRejectedRecipient ||
			b == RefusesMessage && o.Reason != postledger.ReasonRejectedMessage {
			t.Errorf("recipient %d: reason %q", i, o.Reason)
		}
		if all == postledger.OutcomeAccepted && o.Class == all &&
			(o.Reason == postledger.ReasonSandbox) != sub.Transport.Capabilities().Sandbox {
			t.Errorf("recipient %d: reason %q", i, o.Reason)
		}
	}
	s.checkTaken(t, sub, b, e, out)
	if one := sub.one(); single != nil && w.WasBegun() && (w.Known() == nil || w.Known()[one].Class != *single) {
		t.Errorf("recipient %d was decided, and Wire.Begun was told %v", one, w.Known())
	}
	if slices.Contains([]Behaviour{Unreachable, RefusesLogin, BreaksEarly}, b) && w.WasBegun() {
		t.Error("Wire.Begun was called, and the last byte could never leave")
	}
}

// expectation is the class of all recipients, and of one if it differs.
func expectation(b Behaviour) (all postledger.OutcomeClass, single *postledger.OutcomeClass) {
	refused, deferred := postledger.OutcomeRefused, postledger.OutcomeDeferred
	switch b {
	case RefusesRecipient:
		return postledger.OutcomeAccepted, &refused
	case DefersRecipient:
		return postledger.OutcomeAccepted, &deferred
	case RefusesMessage:
		return refused, nil
	case DefersMessage, BreaksEarly:
		return deferred, nil
	case Throttles:
		return postledger.OutcomeThrottled, nil
	case RefusesLogin:
		return postledger.OutcomeMisconfigured, nil
	case Unreachable:
		return postledger.OutcomeUnavailable, nil
	case TakesSilently, LosesSilently, AnswersHalf, AnswersGarbage:
		return postledger.OutcomeUnknown, nil
	}
	return postledger.OutcomeAccepted, nil
}

// checkTaken compares what the hop took with what the outcomes say.
func (s *suite) checkTaken(t *testing.T, sub *Subject, b Behaviour, e *transport.Envelope, out []postledger.Outcome) {
	t.Helper()
	var want []string
	for i, o := range out {
		if o.Class == postledger.OutcomeAccepted || o.Class == postledger.OutcomeUnknown && b != LosesSilently {
			want = append(want, e.Recipients[i])
		}
	}
	var got []string
	for _, r := range sub.Took() {
		got = append(got, r...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the hop took %q, the outcomes say %q", got, want)
	}
}

func (s *suite) returnsWhenContextEnds(t *testing.T, sub *Subject) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e, w := s.envelope(sub), NewWire(t)
	done := make(chan []postledger.Outcome)
	go func() { done <- sub.Transport.Send(ctx, e, w) }()
	<-sub.Held
	cancel()
	out := <-done
	sub.Release()
	CheckOutcomes(t, e, w, out)
	for i, o := range out {
		if o.Class != postledger.OutcomeReturned {
			t.Errorf("recipient %d: %v, want returned", i, o)
		}
	}
	if w.WasBegun() {
		t.Error("Wire.Begun was called")
	}
	if took := sub.Took(); len(took) > 0 {
		t.Errorf("the hop took %q", took)
	}
}

func (s *suite) waitsForTheAnswer(t *testing.T, sub *Subject) {
	ctx, cancel := context.WithCancel(context.Background())
	e, w := s.envelope(sub), NewWire(t)
	done := make(chan []postledger.Outcome, 1)
	go func() { done <- sub.Transport.Send(ctx, e, w) }()
	<-sub.Held
	cancel()
	select {
	case out := <-done:
		t.Fatalf("did not wait for the answer: %v", out)
	default:
	}
	sub.Release()
	out := <-done
	CheckOutcomes(t, e, w, out)
	for i, o := range out {
		if o.Class != postledger.OutcomeAccepted {
			t.Errorf("recipient %d: %v, want accepted", i, o)
		}
	}
}

func (s *suite) noLeave(t *testing.T) {
	sub := s.subject(t, Accepts)
	e, w := s.envelope(sub), NewWire(t)
	w.OnBegun = func() error {
		if took := sub.Took(); len(took) > 0 {
			t.Errorf("the hop took %q before Wire.Begun", took)
		}
		return errors.New("no leave")
	}
	out := sub.Transport.Send(context.Background(), e, w)
	for i, o := range out {
		if o.Class != postledger.OutcomeReturned {
			t.Errorf("recipient %d: %v, want returned", i, o)
		}
	}
	if w.Answer() != nil {
		t.Error("Wire.Answered was called")
	}
	// A later message shows that the hop had time to take the first.
	e = s.envelope(sub)
	w = NewWire(t)
	CheckOutcomes(t, e, w, sub.Transport.Send(context.Background(), e, w))
	if took := sub.Took(); len(took) != 1 {
		t.Errorf("the hop took %d messages, want the second only", len(took))
	}
}

func (s *suite) contextEnded(t *testing.T) {
	sub := s.subject(t, Accepts)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e, w := s.envelope(sub), NewWire(t)
	out := sub.Transport.Send(ctx, e, w)
	CheckOutcomes(t, e, w, out)
	for i, o := range out {
		if o.Class != postledger.OutcomeReturned {
			t.Errorf("recipient %d: %v, want returned", i, o)
		}
	}
}

func (s *suite) manyAtOnce(t *testing.T) {
	const workers, each = 8, 25
	sub := s.subject(t, Accepts)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				e, w := s.envelope(sub), NewWire(t)
				out := sub.Transport.Send(context.Background(), e, w)
				CheckOutcomes(t, e, w, out)
				for i, o := range out {
					if o.Class != postledger.OutcomeAccepted {
						t.Errorf("recipient %d: %v, want accepted", i, o)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := len(sub.Took()); n != workers*each {
		t.Errorf("the hop took %d messages, want %d", n, workers*each)
	}
}

func (s *suite) probes(t *testing.T) {
	for b, want := range map[Behaviour]postledger.OutcomeClass{
		Accepts: postledger.OutcomeAccepted, RefusesMessage: postledger.OutcomeAccepted,
		Unreachable: postledger.OutcomeUnavailable, RefusesLogin: postledger.OutcomeMisconfigured,
	} {
		if s.lacks[b] {
			continue
		}
		if o := s.subject(t, b).Transport.Probe(context.Background()); o.Class != want {
			t.Errorf("a hop that %s: probe says %v, want %v", b, o, want)
		}
	}
}

func (s *suite) closed(t *testing.T) {
	sub := s.subject(t, Accepts)
	if err := sub.Transport.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	e, w := s.envelope(sub), NewWire(t)
	out := sub.Transport.Send(context.Background(), e, w)
	CheckOutcomes(t, e, w, out)
	for i, o := range out {
		if o.Class != postledger.OutcomeReturned {
			t.Errorf("recipient %d: %v, want returned", i, o)
		}
	}
}
