package main_test

import (
	"os"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/testserver"
)

// What befalls the network between a process and its database.
func TestNetworkFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range networkFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault(t, shortOutage())
		})
	}
}

func TestNetworkFaultsLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	for name, fault := range networkFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault(t, longOutage())
		})
	}
}

func networkFaults() map[string]func(*testing.T, outageForm) {
	return map[string]func(*testing.T, outageForm){
		"slow": func(t *testing.T, f outageForm) {
			p := newTroubled(t, f.patient(), testserver.PrivatePostgres(t))
			p.proxy.Delay(200 * time.Millisecond)
			p.works()
			_, refused, _ := p.crowd.counts()
			p.works()
			p.lasts(f.lasts, func() {
				if !p.ready() {
					t.Error("it is slow and not ready")
				}
			})
			if _, now, slowest := p.crowd.counts(); now != refused {
				t.Errorf("%d requests are refused, the slowest after %v", now-refused, slowest)
			}
			p.proxy.Delay(0)
			p.over()
		},
		"reset": func(t *testing.T, f outageForm) {
			p := newTroubled(t, f, testserver.PrivatePostgres(t))
			p.lasts(f.lasts, p.proxy.Cut)
			p.works()
			p.over()
		},
		"no answer": func(t *testing.T, f outageForm) {
			p := newTroubled(t, f, testserver.PrivatePostgres(t))
			p.fault(outageKind{silent: true, hangs: true}, func() { p.proxy.Blackhole(true) }, func() { p.proxy.Blackhole(false) })
			p.over()
		},
		"forgotten connections": func(t *testing.T, f outageForm) {
			p := newTroubled(t, f, testserver.PrivatePostgres(t))
			// Those that exist never answer again, and the server hears
			// nothing of an end: it must let go of what they have locked.
			for range 3 {
				p.proxy.Strand()
				p.works()
			}
			p.sessions = nil // the server keeps them until it notices
			p.over()
		},
		"a kilobyte a second": func(t *testing.T, f outageForm) {
			p := newTroubled(t, f, testserver.PrivatePostgres(t))
			p.fault(outageKind{hangs: true, creeps: f.timeout > 5*time.Second}, func() { p.proxy.Rate(1024) }, func() { p.proxy.Rate(0) })
			p.over()
		},
	}
}
