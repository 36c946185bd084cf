package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/transport/smtp"
)

// counter ends a run when enough has been settled.
type counter struct {
	sent, other atomic.Int64
	want        int64
	done        chan struct{}
}

func (*counter) Leased(postledger.Lane, int, time.Duration)                           {}
func (*counter) Sent(string, postledger.Lane, postledger.OutcomeClass, time.Duration) {}
func (*counter) Health(string, string)                                                {}

func (c *counter) Settled(_ string, ss []ledger.Settled) {
	for i := range ss {
		if ss[i].Status != postledger.StatusSent {
			c.other.Add(1)
		}
		if c.sent.Add(1) == c.want {
			close(c.done)
		}
	}
}

// counted is a ledger that counts its transactions.
type counted struct {
	*ledger.Ledger
	leases, leased, settles, settled atomic.Int64
}

func (c *counted) Lease(ctx context.Context, worker postledger.ID, last ledger.Counts, wants []ledger.Want) ([]ledger.Claimed, error) {
	out, err := c.Ledger.Lease(ctx, worker, last, wants)
	c.leases.Add(1)
	for i := range out {
		c.leased.Add(int64(len(out[i].Leased)))
	}
	return out, err
}

func (c *counted) SettleBy(ctx context.Context, worker postledger.ID, last ledger.Counts, ss []ledger.Settlement) ([]ledger.Settled, int64, error) {
	c.settles.Add(1)
	c.settled.Add(int64(len(ss)))
	return c.Ledger.SettleBy(ctx, worker, last, ss)
}

// average is how many rows a transaction had; none when there was no transaction.
func average(rows, transactions *atomic.Int64) float64 {
	return float64(rows.Load()) / float64(max(1, transactions.Load()))
}

// worker delivers what is in the ledger to the sink.
func worker(books deliver.Ledger, j *job, o deliver.Observer) (*deliver.Worker, error) {
	return deliver.New(deliver.Config{
		Ledger: books, Hop: relay, JournalDir: j.Dir, Host: "bench", Version: "bench", Observer: o,
		Pause: func(context.Context, postledger.ID, string) error { return errors.New("the profile was paused") },
		Open:  func(context.Context, string) (io.ReadCloser, error) { return nil, errors.New("no attachments here") },
	})
}

// bulk delivers the N messages that load has left.
func bulk(j *job) (result, error) {
	ctx := context.Background()
	if _, err := configure(j); err != nil {
		return result{}, err
	}
	l, err := ledger.Open(ctx, j.URL, ledger.Options{})
	if err != nil {
		return result{}, err
	}
	defer l.Close()
	c := &counter{want: int64(j.N), done: make(chan struct{})}
	books := &counted{Ledger: l}
	w, err := worker(books, j, c)
	if err != nil {
		return result{}, err
	}
	m, err := startMeter(j.URL)
	if err != nil {
		return result{}, err
	}
	if err := w.Start(ctx); err != nil {
		return result{}, err
	}
	select {
	case <-c.done:
	case err := <-w.Failed():
		return result{}, err
	case <-time.After(5 * time.Minute):
		return result{}, fmt.Errorf("%d of %d were settled in 5 minutes", c.sent.Load(), j.N)
	}
	r, err := m.stop()
	r.Lease = average(&books.leased, &books.leases)
	r.Settle = average(&books.settled, &books.settles)
	if n := c.other.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d deliveries were not sent", n))
	}
	return r, errors.Join(err, w.Stop(ctx))
}

// deliverUntilTold delivers what it finds.
func deliverUntilTold(j *job) (running, error) {
	ctx := context.Background()
	if _, err := configure(j); err != nil {
		return running{}, err
	}
	l, err := ledger.Open(ctx, j.URL, ledger.Options{})
	if err != nil {
		return running{}, err
	}
	w, err := worker(l, j, nil)
	if err == nil {
		err = w.Start(ctx)
	}
	if err != nil {
		return running{}, errors.Join(err, l.Close())
	}
	return running{"here", func() error { return errors.Join(w.Stop(ctx), l.Close()) }}, nil
}

// relay is the way out to the sink.
func relay(p postledger.Profile) (deliver.Hop, error) {
	var s hopSettings
	if err := json.Unmarshal(p.Config.Settings, &s); err != nil {
		return deliver.Hop{}, err
	}
	t, err := smtp.New(smtp.Config{
		Host: s.Host, Port: s.Port, TLS: smtp.TLSMode(s.TLS), HelloName: "bench.example", MaxConnections: p.Config.Connections,
	})
	return deliver.Hop{Transport: t}, err
}

// isPostgres tells the databases apart.
func isPostgres(url string) bool { return strings.HasPrefix(url, "postgres") }
