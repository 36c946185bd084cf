package deliver_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/deliver/health"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/smtp"
)

// A hop that greets with 421 for ever, for half an hour: once that is known it is asked
// by one connection at a time and at most once in each interval of the probes,
// nothing is charged, and nothing expires but by a deadline.
func TestSimAHopThatGreetsWith421(t *testing.T) {
	simulate(t, func(*postledger.ProfileConfig) {}, func(t *testing.T, s *sim) {
		began := time.Now()
		var mu sync.Mutex
		var dials []time.Duration
		greeters := sync.WaitGroup{}
		dial := func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			dials = append(dials, time.Since(began))
			mu.Unlock()
			here, there := net.Pipe()
			greeters.Go(func() {
				_, _ = io.WriteString(there, "421 4.3.2 too many connections, try again later\r\n")
				there.Close()
			})
			return here, nil
		}
		ids := s.fill(20, "bulk", ledgertest.WithLane(postledger.LaneBulk))
		ids = append(ids, s.fill(10, "now")...)
		s.run(func(c *deliver.Config) {
			c.Hop = func(p postledger.Profile) (deliver.Hop, error) {
				tr, err := smtp.New(smtp.Config{
					Host: "hop.test", Port: 25, TLS: smtp.TLSNone, MaxConnections: p.Config.Connections, HelloName: "desk.test", Dial: dial,
				})
				return deliver.Hop{Transport: tr}, err
			}
		})
		after(30 * time.Minute)
		s.halt()
		greeters.Wait()
		// Each connection may fail once before the first failure is known.
		first := 0
		for first < len(dials) && dials[first] < time.Second {
			first++
		}
		if most := s.Profile.Config.Connections; first == 0 || first > most {
			t.Errorf("%d connections at first, want 1 to %d: %v", first, most, dials[:first])
		}
		interval, last := health.ProbeFirst, dials[first-1]
		for _, at := range dials[first:] {
			if at-last < interval {
				t.Fatalf("a connection %v after the one before, want %v", at-last, interval)
			}
			interval, last = min(2*interval, health.ProbeMost), at
		}
		if n := len(dials) - first; n < 28 || n > 34 {
			t.Errorf("%d probes in half an hour", n)
		}
		for _, id := range ids {
			if d := s.Row(id); d.Status != postledger.StatusQueued || d.Attempts != 0 {
				t.Fatalf("%s is %s/%s, attempt %d", d.Address, d.Status, d.Reason, d.Attempts)
			}
		}
		s.balanced()
	})
}
