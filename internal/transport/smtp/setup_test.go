package smtp_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
	"github.com/postledger/postledger/internal/transport/smtp"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// short is the limit of a phase that a test wants to see end. Only that phase
// gets it: a busy machine must not end another.
const short = 300 * time.Millisecond

// dial makes a transport for hop, in plain text unless change says otherwise.
func dial(t testing.TB, hop *transporttest.Hop, change ...func(*smtp.Config)) *smtp.Transport {
	t.Helper()
	cfg := smtp.Config{
		Host: hop.Host(), Port: hop.Port(), TLS: smtp.TLSNone,
		ServerName: transporttest.HopName, HelloName: "client.test",
	}
	for _, f := range change {
		f(&cfg)
	}
	tr, err := smtp.New(cfg)
	if err != nil {
		t.Fatalf("new transport: %v", err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return tr
}

func oneConnection(c *smtp.Config) { c.MaxConnections = 1 }

func envelope(recipients ...string) *transport.Envelope {
	if len(recipients) == 0 {
		recipients = []string{"mira@rcv.test"}
	}
	return &transport.Envelope{
		ID: new(postledger.IDSource).Next(time.Now()), ReturnPath: "bounce@send.test",
		Recipients: recipients, Message: transporttest.Letter(),
	}
}

// send sends e, with a wire that checks the contract.
func send(t testing.TB, tr transport.Transport, e *transport.Envelope) ([]postledger.Outcome, *transporttest.Wire) {
	t.Helper()
	w := transporttest.NewWire(t)
	out := tr.Send(context.Background(), e, w)
	transporttest.CheckOutcomes(t, e, w, out)
	return out, w
}

func wantClasses(t testing.TB, out []postledger.Outcome, want ...postledger.OutcomeClass) {
	t.Helper()
	got := make([]postledger.OutcomeClass, len(out))
	for i, o := range out {
		got[i] = o.Class
	}
	if !slices.Equal(got, want) {
		t.Fatalf("classes %v, want %v (outcomes %+v)", got, want, out)
	}
}

func wantAccepted(t testing.TB, hop *transporttest.Hop, n int) {
	t.Helper()
	if got := len(hop.Accepted()); got != n {
		t.Fatalf("the hop accepted %d messages, want %d", got, n)
	}
}
