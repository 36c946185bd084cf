package transporttest

import (
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

// Wire is a transport.Wire that checks its use and remembers it.
type Wire struct {
	tb testing.TB
	// OnBegun, if set, decides what Begun returns.
	OnBegun func() error

	mu       sync.Mutex
	begun    int
	known    []postledger.Outcome
	answered int
	outcomes []postledger.Outcome
}

var _ transport.Wire = (*Wire)(nil)

// NewWire makes one for a single Send.
func NewWire(tb testing.TB) *Wire { return &Wire{tb: tb} }

// Begun implements transport.Wire.
func (w *Wire) Begun(known []postledger.Outcome) error {
	w.mu.Lock()
	w.begun++
	w.known = slices.Clone(known)
	n, answered := w.begun, w.answered
	w.mu.Unlock()
	if n > 1 {
		w.tb.Errorf("Wire.Begun called %d times", n)
	}
	if answered > 0 {
		w.tb.Error("Wire.Begun called after Wire.Answered")
	}
	if w.OnBegun != nil {
		return w.OnBegun()
	}
	return nil
}

// Answered implements transport.Wire.
func (w *Wire) Answered(outcomes []postledger.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered++
	if w.answered > 1 {
		w.tb.Errorf("Wire.Answered called %d times", w.answered)
	}
	if w.begun == 0 {
		w.tb.Error("Wire.Answered called without Wire.Begun")
	}
	w.outcomes = slices.Clone(outcomes)
	for i, o := range outcomes {
		if !o.Class.Certain() {
			w.tb.Errorf("Wire.Answered with an uncertain outcome of recipient %d: %v", i, o)
		}
	}
}

// WasBegun reports whether Begun was called.
func (w *Wire) WasBegun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun > 0
}

// Known is what Begun was told; nil is all in doubt.
func (w *Wire) Known() []postledger.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known
}

// Answer is what Answered was called with, nil if it was not.
func (w *Wire) Answer() []postledger.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcomes
}

// Bytes is a message that is its own bytes.
type Bytes []byte

// Size implements transport.Message.
func (b Bytes) Size() int64 { return int64(len(b)) }

// WriteTo implements transport.Message.
func (b Bytes) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b)
	return int64(n), err
}

// Letter is a small well-formed message.
func Letter() Bytes {
	return Bytes("From: <desk@send.test>\r\nTo: <mira@rcv.test>\r\nSubject: hello\r\n\r\nOne line.\r\n.\r\nand after a dot\r\n")
}
