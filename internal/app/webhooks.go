package app

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/postledger/postledger/internal/webhook"
	"github.com/postledger/postledger/jobs"
)

// makeWebhooks makes what tells apps' endpoints of their deliveries. From here on the
// ledger writes jobs for them with what it settles; the queue, which is made after
// this, runs them. own are the addresses that this process listens on.
func (a *App) makeWebhooks(ctx context.Context, own []net.Listener) error {
	guard := &webhook.Guard{Allow: a.config.WebhookNetworks, Local: thisMachine}
	for _, l := range own {
		if addr, err := netip.ParseAddrPort(l.Addr().String()); err == nil {
			guard.Own = append(guard.Own, addr)
		}
	}
	sealer := webhook.NewSealer(a.ring)
	book := webhook.NewBook(a.ledger, sealer, a.log)
	if err := book.Load(ctx); err != nil {
		return fmt.Errorf("make webhooks: %w", err)
	}
	// One host may have all that slow jobs may have at a time.
	slots := max(1, int(float64(a.config.Jobs.Slots)*a.config.Jobs.SlowShare()))
	courier := webhook.NewCourier(webhook.Config{
		Ledger: a.ledger, Book: book, Hold: lateQueue{a}, Observer: a.metrics, Slots: slots, Log: a.log,
		Sender: webhook.NewSender(webhook.SenderConfig{Guard: guard, Version: a.o.Version, PerHost: slots, Idle: 2 * slots}),
	})
	a.onUndo(func() error { courier.Close(); return nil })
	a.webhooks = &webhook.Desk{
		Guard: guard, Sealer: sealer, Book: book, Courier: courier,
		Replayer: &webhook.Replayer{Ledger: a.ledger, Queue: lateQueue{a}, Log: a.log},
	}
	a.ledger.AnnounceTo(book)
	return nil
}

// registerWebhooks tells the queue what webhook jobs do.
func (a *App) registerWebhooks(r *jobs.Registry) error {
	return webhook.Register(r, a.webhooks.Courier, a.webhooks.Replayer)
}

// lateQueue is the job queue, which is made of what its jobs do.
type lateQueue struct{ app *App }

func (q lateQueue) Enqueue(ctx context.Context, job jobs.Job) (jobs.ID, error) {
	return q.app.queue.Client().Enqueue(ctx, job)
}

func (q lateQueue) EnqueueMany(ctx context.Context, list []jobs.Job) ([]jobs.ID, error) {
	return q.app.queue.Client().EnqueueMany(ctx, list)
}

func (q lateQueue) Hold(ctx context.Context, group string, until time.Time) error {
	return q.app.queue.Hold(ctx, group, until)
}

// thisMachine tells whether an address is one of its interfaces'. What cannot be
// asked is taken for one: then nothing is sent there.
func thisMachine(ip netip.Addr) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, addr := range addrs {
		if p, err := netip.ParsePrefix(addr.String()); err == nil && p.Addr().Unmap() == ip {
			return true
		}
	}
	return false
}
