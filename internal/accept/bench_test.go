package accept_test

import (
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/testserver"
)

// letter is a request of 3 KB with HTML to filter.
func letter() *accept.Request {
	r := good()
	r.Text = strings.Repeat("Hello there. ", 80)
	r.HTML = "<table><tr><td style=\"color:#333\">" + strings.Repeat("<p>Hello <b>there</b>.</p>", 80) + "</td></tr></table>"
	return r
}

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := letter().Check(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAccept is 32 clients at a time; "beside" has as many more that are
// over their quota and are refused.
func BenchmarkAccept(b *testing.B) {
	for _, backend := range []struct {
		name string
		url  func() string
	}{
		{"sqlite", func() string { return "sqlite://" + filepath.Join(b.TempDir(), "ledger.db") }},
		{"postgres", func() string { return testserver.Postgres(b) }},
	} {
		b.Run(backend.name, func(b *testing.B) {
			w := newWorld(b, backend.url())
			accepts(b, w)
		})
		b.Run(backend.name+"/beside", func(b *testing.B) {
			w := newWorld(b, backend.url())
			poor := w.put(postledger.Profile{Name: "poor", Config: config()})
			app := accept.Caller{App: w.app("poor")}
			w.grant(postledger.Grant{AppID: app.App, ProfileID: poor.ID, Quota: new(int64)})
			var refusals atomic.Int64
			stop := make(chan struct{})
			var wg sync.WaitGroup
			for range 32 {
				wg.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						r := letter()
						r.Profile = "poor"
						if _, err := w.Accept(b.Context(), app, r); accept.CodeOf(err) == accept.CodeQuota {
							refusals.Add(1)
						}
					}
				})
			}
			accepts(b, w)
			b.ReportMetric(float64(refusals.Load())/b.Elapsed().Seconds(), "refused/s")
			close(stop)
			wg.Wait()
		})
	}
}

func accepts(b *testing.B, w *world) {
	b.Helper()
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := w.Accept(b.Context(), w.caller, letter()); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "accepted/s")
}
