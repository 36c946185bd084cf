package deliver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport"
	"github.com/postledger/postledger/internal/transport/sandbox"
)

// sim is a worker, a ledger and a next hop in fake time: days pass in seconds,
// and what is still running when the test ends is a failure.
type sim struct {
	*ledgertest.World
	t       *testing.T
	dir     string // the journals'
	sandbox *sandbox.Transport
	worker  *deliver.Worker
	// dial, when set, may fail a send or probe as an unreachable hop does.
	dial func() error
	// throttles, when set, may answer a final dot with 454.
	throttles func() bool
}

// simulate runs a test in fake time. The profile is configured before the
// worker starts; start it with run.
func simulate(t *testing.T, profile func(*postledger.ProfileConfig), test func(*testing.T, *sim)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		test(t, newSim(t, func(t *testing.T) *ledger.Ledger {
			return openLedger(t, "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"))
		}, profile))
	})
}

// newSim makes a sim in the running bubble.
func newSim(t *testing.T, open ledgertest.Opener, profile func(*postledger.ProfileConfig)) *sim {
	t.Helper()
	s := &sim{t: t, dir: t.TempDir()}
	s.World = ledgertest.NewWorld(t, open)
	p := s.Profile
	profile(&p.Config)
	s.put(p)
	var err error
	s.sandbox, err = sandbox.New(sandbox.Config{MaxMessages: 10_000})
	must(t, err)
	return s
}

// balanced fails unless the ledger's books balance.
func (s *sim) balanced() { balanced(s.t, s.Ledger) }

func (s *sim) put(p postledger.Profile) {
	s.t.Helper()
	saved, err := s.PutProfile(s.t.Context(), p, p.Revision, s.audit("profile.put"))
	must(s.t, err)
	if p.ID == s.Profile.ID || s.Profile.ID.IsZero() {
		s.Profile = saved
	}
}

func (s *sim) audit(action string) postledger.AuditEvent {
	return postledger.AuditEvent{ID: s.NewID(), Action: action, Result: "done"}
}

// run starts the worker. It is stopped with the test.
func (s *sim) run(tune ...func(*deliver.Config)) {
	s.t.Helper()
	c := deliver.Config{
		Ledger: s.Ledger,
		Hop: func(postledger.Profile) (deliver.Hop, error) {
			return deliver.Hop{Transport: simHop{s.sandbox, s}}, nil
		},
		Pause: func(ctx context.Context, id postledger.ID, alarm string) error {
			return s.PauseProfile(ctx, id, "paused by Postledger", alarm, s.audit("profile.pause"))
		},
		Open:       func(context.Context, string) (io.ReadCloser, error) { return nil, errors.New("no attachments here") },
		JournalDir: s.dir, Host: "test", Version: "test",
	}
	for _, f := range tune {
		f(&c)
	}
	var err error
	s.worker, err = deliver.New(c)
	must(s.t, err)
	must(s.t, s.worker.Start(s.t.Context()))
	s.t.Cleanup(s.halt)
}

// halt stops the worker.
func (s *sim) halt() {
	if err := s.worker.Stop(context.Background()); err != nil {
		s.t.Error(err)
	}
}

// simHop is the sandbox behind a wire that may be cut.
type simHop struct {
	*sandbox.Transport
	s *sim
}

func (h simHop) Send(ctx context.Context, e *transport.Envelope, w transport.Wire) []postledger.Outcome {
	if o, ok := h.unreachable(); ok {
		return transport.Every(len(e.Recipients), o)
	}
	if h.s.throttles != nil && h.s.throttles() {
		o := transport.Every(len(e.Recipients), postledger.Outcome{
			Class: postledger.OutcomeThrottled, Phase: postledger.PhaseDot, Code: 454, Enhanced: postledger.EnhancedCode{4, 7, 0}, Reason: postledger.ReasonThrottled, Text: "slow down",
		})
		if err := w.Begun(nil); err != nil {
			h.s.t.Error(err)
		}
		w.Answered(o)
		return o
	}
	return h.Transport.Send(ctx, e, w)
}

func (h simHop) Probe(ctx context.Context) postledger.Outcome {
	if o, ok := h.unreachable(); ok {
		return o
	}
	return h.Transport.Probe(ctx)
}

func (h simHop) Close() error { return nil } // it outlives changes of the profile

func (h simHop) unreachable() (postledger.Outcome, bool) {
	if h.s.dial == nil {
		return postledger.Outcome{}, false
	}
	err := h.s.dial()
	if err == nil {
		return postledger.Outcome{}, false
	}
	o := postledger.Outcome{
		Class: postledger.OutcomeUnavailable, Phase: postledger.PhaseConnect, Reason: postledger.ReasonUnavailable, Text: err.Error(),
	}
	if errors.Is(err, errMisconfigured) {
		o.Class, o.Phase, o.Reason = postledger.OutcomeMisconfigured, postledger.PhaseAuth, postledger.ReasonMisconfigured
	}
	return o, true
}

var errMisconfigured = errors.New("535 5.7.8 authentication failed")

// fill accepts n single-recipient messages at once.
func (s *sim) fill(n int, prefix string, opts ...ledgertest.Option) []postledger.ID {
	s.t.Helper()
	var ids []postledger.ID
	var batch []ledger.NewMessage
	for i := range n {
		m := s.Message([]string{fmt.Sprintf("%s%d@x.example", prefix, i)}, opts...)
		ids, batch = append(ids, m.Deliveries[0].ID), append(batch, m)
		if len(batch) == 500 || i == n-1 {
			_, err := s.Accept(s.t.Context(), s.Request(batch...))
			must(s.t, err)
			batch = nil
		}
	}
	return ids
}

// kept are the messages the sandbox took, oldest first.
func (s *sim) kept() []sandbox.Message {
	var out []sandbox.Message
	for before := uint64(0); ; {
		page, next := s.sandbox.List(before, 1000)
		out = append(out, page...)
		if next == 0 {
			slices.Reverse(out)
			return out
		}
		before = next
	}
}

// states counts the deliveries by state.
func (s *sim) states(ids []postledger.ID) map[postledger.Status]int {
	s.t.Helper()
	n := map[postledger.Status]int{}
	for _, id := range ids {
		n[s.Row(id).Status]++
	}
	return n
}

// after lets time pass.
func after(d time.Duration) { <-time.After(d) }
