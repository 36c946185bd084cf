// Package ledgertest is the conformance suite of the ledger: each database
// keeps the same rules, and each rule stands here once.
package ledgertest

import (
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Opener opens a fresh, migrated ledger that ends with the test.
type Opener func(t *testing.T) *ledger.Ledger

// Run runs every group of the suite.
func Run(t *testing.T, open Opener) {
	for _, g := range []struct {
		name string
		run  func(*testing.T, Opener)
	}{
		{"accept", Accept},
		{"lease", Lease},
		{"settle", Settle},
		{"settle what was sent", SettleSent},
		{"what a policy sends again", ResendDue},
		{"cancel", Cancel},
		{"quota", Quota},
		{"worker", Worker},
	} {
		t.Run(g.name, func(t *testing.T) { g.run(t, open) })
	}
}

// World is a ledger with an app and a profile to send through.
type World struct {
	*ledger.Ledger
	T       *testing.T
	App     postledger.App
	Profile postledger.Profile
	Worker  ledger.Worker
}

// NewWorld makes an app, a default profile and a started worker.
func NewWorld(t *testing.T, open Opener) *World {
	t.Helper()
	w := &World{Ledger: open(t), T: t}
	ctx := t.Context()
	audit := func(action string) postledger.AuditEvent {
		return postledger.AuditEvent{ID: w.NewID(), Action: action, Result: "done"}
	}
	w.App = postledger.App{ID: w.NewID(), Name: "shop-" + w.NewID().Token()}
	if err := w.CreateApp(ctx, w.App, audit("app.create")); err != nil {
		t.Fatalf("create app: %v", err)
	}
	p, err := w.PutProfile(ctx, postledger.Profile{
		Name: "main-" + w.NewID().Token(), IsDefault: true,
		Config: postledger.ProfileConfig{From: "desk@send.example", Transport: "sandbox", Connections: 4},
	}, 0, audit("profile.put"))
	if err != nil {
		t.Fatalf("put profile: %v", err)
	}
	w.Profile = p
	w.Worker = w.StartNewWorker()
	return w
}

// StartNewWorker starts another worker.
func (w *World) StartNewWorker() ledger.Worker {
	w.T.Helper()
	v := ledger.Worker{ID: w.NewID(), Host: "h", BootID: "b", PID: 1, Version: "test"}
	if err := w.StartWorker(w.T.Context(), v); err != nil {
		w.T.Fatalf("start worker: %v", err)
	}
	return v
}

// Option changes a message before it is accepted.
type Option func(*ledger.NewMessage)

// WithKey gives the message an idempotency key.
func WithKey(key, fingerprint string) Option {
	return func(m *ledger.NewMessage) { m.Key, m.Fingerprint = key, fingerprint }
}

// WithSendAt delays the message.
func WithSendAt(at time.Time) Option {
	return func(m *ledger.NewMessage) {
		m.Message.SendAt = at
		for i := range m.Deliveries {
			m.Deliveries[i].DueAt = at
		}
	}
}

// WithDeadline sets the message's deadline.
func WithDeadline(at time.Time) Option {
	return func(m *ledger.NewMessage) {
		m.Message.ExpiresAt = at
		for i := range m.Deliveries {
			m.Deliveries[i].ExpiresAt = at
		}
	}
}

// WithLane puts the message in a lane.
func WithLane(l postledger.Lane) Option {
	return func(m *ledger.NewMessage) {
		m.Message.Lane = l
		for i := range m.Deliveries {
			m.Deliveries[i].Lane = l
		}
	}
}

// Message builds a message to the given addresses.
func (w *World) Message(to []string, opts ...Option) ledger.NewMessage {
	m := ledger.NewMessage{
		Message: postledger.Message{
			ID: w.NewID(), AppID: w.App.ID, ProfileID: w.Profile.ID, ProfileName: w.Profile.Name,
			RequestID: "r", Lane: postledger.LaneImmediate, Category: postledger.CategorySystem,
			Subject: "Week 12", SizeBytes: 10, Recipients: len(to),
		},
		Content: postledger.Content{Text: "hello", HTML: "<p>hello</p>", Headers: []postledger.Header{{Name: "X-Ref", Value: "7"}}},
	}
	envelope := w.NewID()
	for i, a := range to {
		d := postledger.Delivery{
			ID: w.NewID(), MessageID: m.Message.ID, EnvelopeID: envelope, AppID: w.App.ID, ProfileID: w.Profile.ID,
			Lane: postledger.LaneImmediate, Kind: postledger.KindTo, Position: i,
			Address: a, AddressFolded: strings.ToLower(a), DisplayName: "Mira",
		}
		if len(to) == 1 {
			d.EnvelopeID = d.ID
		}
		m.Deliveries = append(m.Deliveries, d)
	}
	for _, o := range opts {
		o(&m)
	}
	return m
}

// Request wraps messages for Accept.
func (w *World) Request(ms ...ledger.NewMessage) *ledger.AcceptRequest {
	return &ledger.AcceptRequest{
		AppID: w.App.ID, ProfileID: w.Profile.ID, Revision: w.Profile.Revision, Messages: ms,
		Audit: postledger.AuditEvent{ID: w.NewID(), AppID: w.App.ID, Action: "message.accept", Result: "done"},
	}
}

// Send accepts one message and returns its deliveries' ids.
func (w *World) Send(to []string, opts ...Option) []postledger.ID {
	w.T.Helper()
	m := w.Message(to, opts...)
	if _, err := w.Accept(w.T.Context(), w.Request(m)); err != nil {
		w.T.Fatalf("accept: %v", err)
	}
	ids := make([]postledger.ID, len(m.Deliveries))
	for i := range ids {
		ids[i] = m.Deliveries[i].ID
	}
	return ids
}

// Known is what the world's app is told of an idempotency key.
func (w *World) Known(key, fingerprint string) (ledger.AcceptedItem, bool) {
	w.T.Helper()
	known, err := w.LookupKeys(w.T.Context(), w.App.ID, []string{key}, []string{fingerprint})
	if err != nil {
		w.T.Fatalf("look up key %s: %v", key, err)
	}
	item, ok := known[0]
	return item, ok
}

// Key is the claim key of the world's app and profile.
func (w *World) Key(l postledger.Lane) ledger.ClaimKey {
	return ledger.ClaimKey{Profile: w.Profile.ID, Lane: l, App: w.App.ID}
}

// LeaseN leases up to n immediate deliveries for the world's worker.
func (w *World) LeaseN(n int) []ledger.Leased {
	w.T.Helper()
	return w.LeaseFor(w.Worker.ID, ledger.Want{Key: w.Key(postledger.LaneImmediate), N: n}).Leased
}

// LeaseFor leases for a given worker.
func (w *World) LeaseFor(worker postledger.ID, want ledger.Want) ledger.Claimed {
	w.T.Helper()
	c, err := w.Lease(w.T.Context(), worker, ledger.Counts{}, []ledger.Want{want})
	if err != nil {
		w.T.Fatalf("lease: %v", err)
	}
	return c[0]
}

// MustSettle settles one delivery and returns the answer.
func (w *World) MustSettle(s ledger.Settlement) ledger.Settled {
	w.T.Helper()
	out, err := w.Settle(w.T.Context(), []ledger.Settlement{s})
	if err != nil {
		w.T.Fatalf("settle: %v", err)
	}
	return out[0]
}

// Row reads a delivery's columns that the suite looks at.
func (w *World) Row(id postledger.ID) postledger.Delivery {
	w.T.Helper()
	d, ok, err := w.DeliveryByID(w.T.Context(), id)
	if err != nil || !ok {
		w.T.Fatalf("read delivery %s: %v (found %v)", id, err, ok)
	}
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
