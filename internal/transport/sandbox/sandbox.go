package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

// Config bounds what is kept. Its zero value is ready.
type Config struct {
	MaxMessages int           // default 1,000
	MaxBytes    int64         // of all kept messages together, default 64 MiB
	SlowDelay   time.Duration // of +slow, default 3 s
	// Now and After are the clock, default time.Now and time.After.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// Transport is a sandbox. It is safe for concurrent use.
type Transport struct {
	cfg  Config
	kept *store
}

var _ transport.Transport = (*Transport)(nil)

// New makes a sandbox.
func New(cfg Config) (*Transport, error) {
	if cfg.MaxMessages < 0 || cfg.MaxBytes < 0 || cfg.SlowDelay < 0 {
		return nil, errors.New("sandbox limits: must not be negative")
	}
	if cfg.MaxMessages == 0 {
		cfg.MaxMessages = 1000
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 64 << 20
	}
	if cfg.SlowDelay == 0 {
		cfg.SlowDelay = 3 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.After == nil {
		cfg.After = time.After
	}
	return &Transport{cfg: cfg, kept: newStore(cfg.MaxMessages, cfg.MaxBytes)}, nil
}

// Capabilities implements transport.Transport.
func (t *Transport) Capabilities() transport.Capabilities {
	return transport.Capabilities{Name: "sandbox", Sandbox: true}
}

// Probe implements transport.Transport: a sandbox is always ready.
func (t *Transport) Probe(context.Context) postledger.Outcome {
	return postledger.Outcome{Class: postledger.OutcomeAccepted, Phase: postledger.PhaseHello, Reason: postledger.ReasonSandbox}
}

// Close ends later Sends. What is kept can still be read.
func (t *Transport) Close() error {
	t.kept.close()
	return nil
}

// List returns up to limit kept messages, newest first, that are older than
// the cursor before; 0 starts with the newest. next continues, 0 is the end.
// The messages come without their bytes.
func (t *Transport) List(before uint64, limit int) (page []Message, next uint64) {
	return t.kept.list(before, limit)
}

// Get returns the newest kept message of an envelope.
func (t *Transport) Get(envelope postledger.ID) (Message, bool) { return t.kept.get(envelope) }

// Send implements transport.Transport.
func (t *Transport) Send(ctx context.Context, e *transport.Envelope, w transport.Wire) []postledger.Outcome {
	if t.kept.isClosed() {
		return transport.Every(len(e.Recipients), returned(postledger.PhaseConnect, "the transport is closed"))
	}
	out, taken, acts := t.recipients(e)
	if len(taken) == 0 {
		return out
	}
	settle := func(o postledger.Outcome) []postledger.Outcome {
		for _, i := range taken {
			out[i] = o
		}
		return out
	}
	if acts[timeout] {
		return settle(outcome(postledger.OutcomeDeferred, postledger.PhaseData, "the sandbox did not answer in time, as +timeout asks"))
	}
	if acts[slow] {
		select {
		case <-ctx.Done():
		case <-t.cfg.After(t.cfg.SlowDelay):
		}
	}
	if ctx.Err() != nil {
		return settle(returned(postledger.PhaseBody, "stopped before the message was taken"))
	}
	kept, err := t.read(e, taken)
	if err != nil {
		return settle(outcome(postledger.OutcomeDeferred, postledger.PhaseBody, err.Error()))
	}
	if err := w.Begun(known(out, taken)); err != nil {
		return settle(returned(postledger.PhaseBody, fmt.Sprintf("begin: %v", err)))
	}
	if acts[unknown] {
		return settle(outcome(postledger.OutcomeUnknown, postledger.PhaseDot, "the sandbox did not answer the final dot, as +unknown asks"))
	}
	t.kept.add(kept)
	settle(postledger.Outcome{
		Class: postledger.OutcomeAccepted, Phase: postledger.PhaseDot, Reason: postledger.ReasonSandbox,
		Code: 250, Enhanced: postledger.EnhancedCode{2, 0, 0}, Text: "250 2.0.0 kept in the sandbox",
	})
	w.Answered(out)
	return out
}

// known is what Wire.Begun is told: nil if all recipients were taken.
func known(out []postledger.Outcome, taken []int) []postledger.Outcome {
	if len(taken) == len(out) {
		return nil
	}
	k := slices.Clone(out)
	for _, i := range taken {
		k[i] = transport.InDoubt()
	}
	return k
}

// recipients plays RCPT for each: outcomes of those refused, the indexes of
// those taken, and how the latter want the hop to act.
func (t *Transport) recipients(e *transport.Envelope) (out []postledger.Outcome, taken []int, acts map[action]bool) {
	out = make([]postledger.Outcome, len(e.Recipients))
	acts = make(map[action]bool)
	for i, addr := range e.Recipients {
		act, code := parse(addr)
		if act != reply {
			taken = append(taken, i)
			acts[act] = true
			continue
		}
		o := transport.Classify(postledger.PhaseRcpt, code, len(taken), e.Recipients)
		out[i] = o
		if code.Code == 421 {
			// The hop closes the connection: nobody is taken.
			for j := range out {
				if out[j] == (postledger.Outcome{}) {
					out[j] = o
				}
			}
			return out, nil, nil
		}
	}
	return out, taken, acts
}

// read takes the message's bytes, unless they are more than may be kept.
func (t *Transport) read(e *transport.Envelope, taken []int) (Message, error) {
	m := Message{
		Envelope: e.ID, ReturnPath: e.ReturnPath, Size: e.Message.Size(), At: t.cfg.Now(),
		Recipients: make([]string, len(taken)),
	}
	for k, i := range taken {
		m.Recipients[k] = e.Recipients[i]
	}
	b := bounded{max: t.cfg.MaxBytes, b: make([]byte, 0, min(max(m.Size, 0), t.cfg.MaxBytes))}
	n, err := e.Message.WriteTo(&b)
	switch {
	case err != nil:
		return m, fmt.Errorf("the message could not be read: %w", err)
	case n != m.Size:
		return m, fmt.Errorf("the message has %d bytes and not %d as announced", n, m.Size)
	}
	m.Bytes, m.Truncated = b.b, b.over
	return m, nil
}

func outcome(class postledger.OutcomeClass, phase postledger.Phase, text string) postledger.Outcome {
	return postledger.Outcome{Class: class, Phase: phase, Reason: transport.ReasonOf(class), Text: transport.OneLine(text, nil)}
}

func returned(phase postledger.Phase, text string) postledger.Outcome {
	return outcome(postledger.OutcomeReturned, phase, text)
}
