package deliver_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/deliver/journal"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// backup is a database that can be saved and put back as it was. Nothing is
// connected to it meanwhile.
type backup struct {
	url           string
	save, putBack func(t *testing.T)
}

func sqliteBackup(t *testing.T) backup {
	dir := t.TempDir()
	file, saved := filepath.Join(dir, "ledger.db"), filepath.Join(dir, "saved.db")
	return backup{
		url: "sqlite://" + file,
		save: func(t *testing.T) {
			t.Helper()
			db, err := sql.Open("sqlite", file)
			must(t, err)
			defer db.Close()
			_, err = db.ExecContext(t.Context(), `VACUUM INTO '`+saved+`'`)
			must(t, err)
		},
		putBack: func(t *testing.T) {
			t.Helper()
			must(t, os.RemoveAll(file+"-wal"))
			must(t, os.RemoveAll(file+"-shm"))
			must(t, os.Rename(saved, file))
		},
	}
}

func postgresBackup(t *testing.T) backup {
	server := testserver.PrivatePostgres(t)
	u, err := url.Parse(server.AdminURL())
	must(t, err)
	name := u.Path[1:]
	u.Path = "/postgres"
	run := func(t *testing.T, statements ...string) {
		t.Helper()
		c, err := pgx.Connect(t.Context(), u.String())
		must(t, err)
		defer c.Close(context.Background())
		for _, s := range statements {
			_, err := c.Exec(t.Context(), s)
			must(t, err)
		}
	}
	return backup{
		url:  server.URL(),
		save: func(t *testing.T) { t.Helper(); run(t, `CREATE DATABASE saved TEMPLATE `+name) },
		putBack: func(t *testing.T) {
			t.Helper()
			run(t, `DROP DATABASE `+name+` WITH (FORCE)`, `ALTER DATABASE saved RENAME TO `+name)
		},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reopen opens the rig's ledger again.
func (r *rig) reopen(url string) {
	r.t.Helper()
	r.Ledger = openLedger(r.t, url)
}

// Invariant 17: a ledger that was put back from before a thousand messages
// left sends none of them again, also when the marking is killed in between.
func TestARestoredLedgerSendsNothingTwice(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testing.T) backup{"sqlite": sqliteBackup, "postgres": postgresBackup} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := prepare(t)
			r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, b.url) }, transporttest.HopConfig{}, nil)
			var ids []postledger.ID
			for range 2 { // two pages of a marking
				var batch []ledger.NewMessage
				for range 600 {
					m := r.Message([]string{fmt.Sprintf("old%d@x.example", len(ids))}, ledgertest.WithLane(postledger.LaneBulk))
					ids, batch = append(ids, m.Deliveries[0].ID), append(batch, m)
				}
				_, err := r.Accept(t.Context(), r.Request(batch...))
				must(t, err)
			}
			must(t, r.Ledger.Close())
			b.save(t)

			config := childConfig{Database: b.url, JournalDir: r.dir}
			first := startChild(t, config, "")
			r.until("all have left", func() bool { return len(r.hop.Accepted()) == len(ids) })
			first.stop()
			b.putBack(t)

			startChild(t, config, "recovery_read:2").waitKilled()
			r.reopen(b.url)
			if s, err := r.ReadState(t.Context()); err != nil || !s.Restoring {
				t.Fatalf("after a marking that was killed: %+v %v", s, err)
			}
			fresh := r.Send([]string{"between@x.example"})
			next := startChild(t, config, "")
			fresh = append(fresh, r.Send([]string{"new@x.example"})...)
			for _, d := range r.settled(fresh...) {
				if d.Status != postledger.StatusSent {
					t.Errorf("%s, accepted after it began: %s/%s", d.Address, d.Status, d.Reason)
				}
			}
			next.stop()
			startChild(t, config, "").stop() // and a restart later changes nothing

			for _, id := range ids {
				if d := r.Row(id); d.Status != postledger.StatusUnconfirmed || d.Reason != postledger.ReasonRestored {
					t.Fatalf("%s is %s/%s", d.Address, d.Status, d.Reason)
				}
			}
			copies := r.copies()
			for to, n := range copies {
				if n != 1 {
					t.Errorf("%s has %d copies", to, n)
				}
			}
			if len(copies) != len(ids)+len(fresh) {
				t.Errorf("%d addresses at the hop, want %d", len(copies), len(ids)+len(fresh))
			}
			if s, err := r.ReadState(t.Context()); err != nil || s.Restoring || s.RestoredAt.IsZero() {
				t.Errorf("state %+v %v", s, err)
			}
		})
	}
}

// A marking that was interrupted is finished up to its own moment when that is
// asked for, and up to now when not: the ledger may be a backup taken during a
// marking, and then what was accepted since has been sent (invariant 17).
func TestMarkRestoredAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		resume bool
		later  postledger.Status
	}{
		{"resumed", true, postledger.StatusQueued},
		{"put back", false, postledger.StatusUnconfirmed},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, open ledgertest.Opener) {
				r := newRig(t, open, transporttest.HopConfig{}, nil)
				if _, _, err := deliver.ResumeMarking(t.Context(), r.Ledger); !errors.Is(err, deliver.ErrNotMarking) {
					t.Fatalf("resumed what was never begun: %v", err)
				}
				ids := r.Send([]string{"a@x.example", "b@x.example"})
				now, err := r.Now(t.Context())
				must(t, err)
				if _, _, err := deliver.MarkRestored(t.Context(), interrupted{r.Ledger}, now); err == nil {
					t.Fatal("an interrupted marking reported no error")
				}
				later := r.Send([]string{"c@x.example"})
				if got := r.LeaseN(10); len(got) != 0 {
					t.Fatalf("%d leased from a ledger that is being marked", len(got))
				}
				if c.resume {
					if n, until, err := deliver.ResumeMarking(t.Context(), r.Ledger); err != nil || n != len(ids) || !until.Equal(now) {
						t.Errorf("marked %d up to %v, want %d, %v: %v", n, until, len(ids), now, err)
					}
				} else if n, until, err := deliver.MarkRestored(t.Context(), r.Ledger, time.Time{}); err != nil || n != len(ids)+1 || !until.After(now) {
					t.Errorf("marked %d up to %v, want %d, later than %v: %v", n, until, len(ids)+1, now, err)
				}
				if d := r.Row(later[0]); d.Status != c.later {
					t.Errorf("accepted after the first moment: %s/%s", d.Status, d.Reason)
				}
				for _, d := range r.settled(ids...) {
					if d.Status != postledger.StatusUnconfirmed || d.Reason != postledger.ReasonRestored {
						t.Errorf("row %+v", d)
					}
				}
			})
		})
	}
}

// A start that fails leaves the journals it has read: the ledger may be put
// back before the next one, and nothing else would tell.
func TestAStartThatFailsKeepsTheProof(t *testing.T) {
	t.Parallel()
	b := sqliteBackup(t)
	r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, b.url) }, transporttest.HopConfig{}, nil)
	ids := r.Send([]string{"a@x.example"})
	must(t, r.Ledger.Close())
	b.save(t)

	r.reopen(b.url)
	config := childConfig{Database: b.url, JournalDir: r.dir}
	first := startChild(t, config, "")
	r.settled(ids...)
	first.stop()
	r.tune = func(c *deliver.Config) { c.Ledger = rowless{r.Ledger} }
	if err := r.startFails(); err == nil {
		t.Fatal("started without its row")
	}
	must(t, r.Ledger.Close())
	b.putBack(t)

	r.reopen(b.url)
	again := startChild(t, config, "")
	if d := r.settled(ids...)[0]; d.Status != postledger.StatusUnconfirmed || d.Reason != postledger.ReasonRestored {
		t.Errorf("%s/%s", d.Status, d.Reason)
	}
	again.stop()
	r.eachOnce(1)
}

// interrupted is a ledger that goes away between two steps of a marking.
type interrupted struct{ deliver.RestoreLedger }

func (interrupted) Settle(context.Context, []ledger.Settlement) ([]ledger.Settled, error) {
	return nil, errors.New("gone")
}

// A journal whose worker never wrote its row is no proof of another future:
// its process ended between the two, or is between them now.
func TestAJournalWithoutARowProvesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{}, nil)
		state, err := r.ReadState(t.Context())
		must(t, err)
		dead, err := journal.Create(r.dir, journal.Owner{Ledger: state.LedgerID, Worker: r.NewID()}, 1)
		must(t, err)
		must(t, dead.Abandon())
		alive, err := journal.Create(r.dir, journal.Owner{Ledger: state.LedgerID, Worker: r.NewID()}, 1)
		must(t, err)
		t.Cleanup(func() { must(t, alive.Close()) })

		id := r.Send([]string{"a@x.example"})[0]
		r.tune = func(c *deliver.Config) { c.Ledger = rowless{r.Ledger} }
		if err := r.startFails(); err == nil {
			t.Fatal("started without its row")
		}
		r.tune = nil
		r.start()
		if d := r.settled(id)[0]; d.Status != postledger.StatusSent {
			t.Errorf("%s/%s", d.Status, d.Reason)
		}
		if _, err := os.Stat(dead.Path()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the dead one's journal is still there: %v", err)
		}
		if _, err := os.Stat(alive.Path()); err != nil {
			t.Errorf("the living one's journal: %v", err)
		}
	})
}

// rowless is a ledger that cannot write a worker's row.
type rowless struct{ *ledger.Ledger }

func (rowless) StartWorker(context.Context, ledger.Worker) error { return errors.New("away") }

// The counter moves with leases and settles, not with heartbeats alone: a
// backup taken while messages are on the wire is known as old as soon as one
// of them has been settled, however soon after.
func TestABackupTakenWhileSendingIsKnownAsOld(t *testing.T) {
	t.Parallel()
	b := sqliteBackup(t)
	held, reached := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, b.url) }, transporttest.HopConfig{
		Rules: []transporttest.Rule{{At: transporttest.StepDot, Do: transporttest.Action{
			Hook: sync.OnceFunc(func() { close(reached) }), Hold: held, Keep: true,
		}}},
	}, nil)
	ids := r.Send([]string{"a@x.example"})
	ids = append(ids, r.Send([]string{"b@x.example"})...)
	config := childConfig{Database: b.url, JournalDir: r.dir, Heartbeat: time.Hour, StaleAfter: 2 * time.Hour}
	first := startChild(t, config, "")
	<-reached
	b.save(t)
	close(held)
	r.settled(ids...)
	r.noted()
	first.Kill()
	must(t, r.Ledger.Close())
	b.putBack(t)

	r.reopen(b.url)
	again := startChild(t, config, "")
	for _, d := range r.settled(ids...) {
		if d.Status != postledger.StatusUnconfirmed || d.Reason != postledger.ReasonRestored {
			t.Errorf("%s is %s/%s", d.Address, d.Status, d.Reason)
		}
	}
	again.stop()
	r.eachOnce(2)
}

// A ledger that fell back under a living worker, as a standby that lagged does:
// nothing is sent from it, though the worker's own commits could soon bring its
// counter to where it was (invariant 17).
func TestALivingWorkerLeasesNothingFromAnOlderLedger(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, "sqlite://"+file) }, transporttest.HopConfig{}, nil)
	r.tune = func(c *deliver.Config) { c.Heartbeat = 2 * time.Second }
	w := r.start()
	r.settled(r.Send([]string{"a@x.example"})...)
	r.settled(r.Send([]string{"b@x.example"})...)
	r.noted()
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(5000)")
	must(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `UPDATE worker_settles SET settles = settles - 1`)
	must(t, err)
	id := r.Send([]string{"old@x.example"})[0]
	select {
	case err := <-w.Failed():
		if !errors.Is(err, ledger.ErrWorkerUnknown) {
			t.Errorf("it failed by %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the worker goes on")
	}
	if d := r.Row(id); d.Status != postledger.StatusQueued || d.Fence != 0 {
		t.Errorf("%s, leased %d times", d.Status, d.Fence)
	}
}

// A restore that a worker lived through is marked once, also when that worker
// ends later and leaves its journal.
func TestOneRestoreIsMarkedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(t *testing.T) *ledger.Ledger {
		return openLedger(t, "sqlite://"+filepath.Join(t.TempDir(), "l.db"))
	}, transporttest.HopConfig{}, nil)
	state, err := r.ReadState(t.Context())
	must(t, err)
	before := r.StartNewWorker()
	j, err := journal.Create(r.dir, journal.Owner{Ledger: state.LedgerID, Worker: before.ID}, 4)
	must(t, err)
	must(t, j.SetBeat(50)) // its row says 1
	r.start()
	if state, err = r.ReadState(t.Context()); err != nil || state.RestoredAt.IsZero() {
		t.Fatalf("nothing was marked: %+v %v", state, err)
	}
	if _, err := r.Heartbeat(t.Context(), before.ID, ledger.Counts{Beats: 50}); !errors.Is(err, ledger.ErrWorkerUnknown) {
		t.Fatalf("the worker that lived through it goes on: %v", err)
	}
	must(t, r.EndWorker(t.Context(), before.ID))
	must(t, j.Close())
	r.stop()
	id := r.Send([]string{"new@x.example"})[0]
	r.start()
	if d := r.settled(id)[0]; d.Status != postledger.StatusSent {
		t.Errorf("accepted after the only restore: %s/%s", d.Status, d.Reason)
	}
}
