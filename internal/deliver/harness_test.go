package deliver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/deliver/journal"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/smtp"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// onBoth runs a test on each database.
func onBoth(t *testing.T, run func(t *testing.T, open ledgertest.Opener)) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, database(t, kind)) })
		})
	}
}

func openLedger(t *testing.T, url string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), url, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := l.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// rig is a world whose profile sends to a scripted hop through a worker.
type rig struct {
	*ledgertest.World
	t       *testing.T
	hop     *transporttest.Hop
	dir     string
	worker  *deliver.Worker
	stop    func()
	changed chan struct{}
	tune    func(*deliver.Config)
	smtp    func(*smtp.Config)
}

type settings struct{ Port int }

func newRig(t *testing.T, open ledgertest.Opener, hop transporttest.HopConfig, profile func(*postledger.ProfileConfig)) *rig {
	t.Helper()
	r := &rig{World: ledgertest.NewWorld(t, open), t: t, dir: t.TempDir(), changed: make(chan struct{}, 1)}
	r.hop = transporttest.NewHop(t, hop)
	p := r.Profile
	p.Config.Transport = "smtp"
	p.Config.Settings, _ = json.Marshal(settings{r.hop.Port()})
	if profile != nil {
		profile(&p.Config)
	}
	r.putProfile(p)
	return r
}

func (r *rig) putProfile(p postledger.Profile) {
	r.t.Helper()
	saved, err := r.PutProfile(r.t.Context(), p, r.Profile.Revision, postledger.AuditEvent{ID: r.NewID(), Action: "profile.put", Result: "done"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Profile = saved
}

// startFails is a start that is expected to fail.
func (r *rig) startFails() error {
	r.t.Helper()
	w, err := deliver.New(r.config())
	if err != nil {
		r.t.Fatal(err)
	}
	return w.Start(r.t.Context())
}

// start starts a worker; it is stopped with the test.
func (r *rig) start() *deliver.Worker {
	r.t.Helper()
	w, err := deliver.New(r.config())
	if err != nil {
		r.t.Fatal(err)
	}
	if err := w.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.worker = w
	stop := sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := w.Stop(ctx); err != nil {
			r.t.Error(err)
		}
	})
	r.stop = stop
	r.t.Cleanup(stop)
	return w
}

func (r *rig) config() deliver.Config {
	c := deliver.Config{
		Ledger: r.Ledger,
		Hop: func(p postledger.Profile) (deliver.Hop, error) {
			var s settings
			if err := json.Unmarshal(p.Config.Settings, &s); err != nil {
				return deliver.Hop{}, err
			}
			sc := smtp.Config{Host: "127.0.0.1", Port: s.Port, TLS: smtp.TLSNone, MaxConnections: p.Config.Connections}
			if r.smtp != nil {
				r.smtp(&sc)
			}
			tr, err := smtp.New(sc)
			return deliver.Hop{Transport: tr}, err
		},
		Pause: func(ctx context.Context, id postledger.ID, alarm string) error {
			return r.PauseProfile(ctx, id, "paused by Postledger", alarm, postledger.AuditEvent{ID: r.NewID(), Action: "profile.pause", Result: "done"})
		},
		Open:       func(context.Context, string) (io.ReadCloser, error) { return nil, errors.New("no attachments here") },
		OnSettled:  func([]postledger.ID) { r.signal() },
		JournalDir: r.dir, Host: "test", Version: "test",
		PollImmediate: 20 * time.Millisecond, PollBulk: 40 * time.Millisecond,
	}
	if r.tune != nil {
		r.tune(&c)
	}
	return c
}

func (r *rig) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// until waits for a condition, looking again after every settle.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	limit := time.After(3 * time.Minute)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-r.changed:
		case <-poll.C:
		case <-limit:
			r.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// settled waits until the deliveries are, and returns their rows.
func (r *rig) settled(ids ...postledger.ID) []postledger.Delivery {
	r.t.Helper()
	out := make([]postledger.Delivery, len(ids))
	r.until("all are settled", func() bool {
		for i, id := range ids {
			out[i] = r.Row(id)
			if !out[i].Status.Settled() {
				return false
			}
		}
		return true
	})
	return out
}

// noted waits until the journals hold every settle that the ledger holds: only
// from then on does a journal prove that a ledger without them is older. Until
// then its records do the same, one by one.
func (r *rig) noted() {
	r.t.Helper()
	state, err := r.ReadState(r.t.Context())
	must(r.t, err)
	r.until("the settles are noted", func() bool {
		entries, err := journal.List(r.dir, state.LedgerID)
		must(r.t, err)
		n := 0
		for _, e := range entries {
			must(r.t, e.Err)
			row, _, err := r.WorkerByID(r.t.Context(), e.Worker)
			must(r.t, err)
			if row.Settles > int64(e.Header.Settles) {
				return false
			}
			n += int(row.Settles)
		}
		return n > 0
	})
}

// copies counts the accepted copies of each address at the hop.
func (r *rig) copies() map[string]int {
	n := map[string]int{}
	for _, a := range r.hop.Accepted() {
		for _, to := range a.Recipients {
			n[to]++
		}
	}
	return n
}

// balanced fails unless the ledger's books balance.
func (r *rig) balanced() { balanced(r.t, r.Ledger) }

func balanced(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	report, err := l.Books(t.Context(), nil)
	if err != nil || len(report.Differences) != 0 || report.Totals.Accepted != report.Totals.Sum() {
		t.Errorf("the books: %+v, %v", report, err)
	}
}
