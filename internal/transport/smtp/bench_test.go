package smtp_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport/smtp"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// nullWire costs nothing.
type nullWire struct{}

func (nullWire) Begun([]postledger.Outcome) error { return nil }
func (nullWire) Answered([]postledger.Outcome)    {}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSend sends 10 KB messages over 8 connections to a sink in another
// process, and tells the CPU time of both apart.
func BenchmarkSend(b *testing.B) {
	bin := buildSink(b)
	for _, mode := range []string{"pipelining=true", "pipelining=false"} {
		b.Run(mode, func(b *testing.B) {
			const connections = 8
			p := runSink(b, bin, "-"+mode)
			tr := at(b, p.addr, func(c *smtp.Config) {
				c.MaxConnections, c.MaxMessagesPerConnection, c.MaxAge = connections, 1<<30, time.Hour
			})
			e := envelope()
			e.RequestDSN = true
			e.Message = transporttest.Bytes("Subject: x\r\n\r\n" + strings.Repeat(strings.Repeat("x", 76)+"\r\n", 10_240/78))
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()

			b.ReportAllocs()
			var left atomic.Int64
			left.Store(int64(b.N))
			before := cpu(b)
			b.ResetTimer()
			var wg sync.WaitGroup
			for range connections {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if out := tr.Send(ctx, e, nullWire{}); out[0].Class != postledger.OutcomeAccepted {
							b.Errorf("got %v %q", out[0], out[0].Text)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			client := cpu(b) - before
			counts, server := p.end(b)
			if counts.Messages != int64(b.N) {
				b.Errorf("the sink took %d of %d", counts.Messages, b.N)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
			b.ReportMetric(float64(client.Microseconds())/float64(b.N), "client-µs/msg")
			b.ReportMetric(float64(server.Microseconds())/float64(b.N), "sink-µs/msg")
		})
	}
}
