package ledger_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/testserver"
)

// The short form of the long proofs below: pages only, for the machine is
// shared with other tests.
func TestClaimsTouchNoMorePagesAtTheEndOfABacklog(t *testing.T) {
	t.Run("old snapshot", func(t *testing.T) {
		url := testserver.Postgres(t)
		d := newDrain(t, url, 100_000)
		holdSnapshot(t, url)
		flat(t, d.run(t), false)
	})
	t.Run("drained behind an old snapshot", func(t *testing.T) {
		url := testserver.Postgres(t)
		d := newDrain(t, url, 20_000)
		holdSnapshot(t, url)
		d.run(t)
		d.acceptAll(t, probe)
		key, drained := d.Key(postledger.LaneBulk), sentAt(d.rows)
		for s := range 35 {
			d.trail.Begin(drained.Add(time.Duration(s) * time.Second))
			d.trail.Nothing()
		}
		far := d.trail.Begin(drained.Add(70 * time.Second))
		// The claim of so many touches half as many pages without any dead entry.
		whole := d.blocks(t, ledger.Want{Key: key})
		if back := d.blocks(t, ledger.Want{Key: key, After: far}); 3*back > 2*whole {
			t.Errorf("a claim that looks back touches %d pages, one from the start %d", back, whole)
		}
		d.settle(d.LeaseFor(d.Worker.ID, ledger.Want{Key: key, N: probe, After: far}).Leased, postledger.MoverWorker, postledger.ID{})
		all := d.pages(t, func() error { _, err := d.Waiting(t.Context()); return err })
		if beyond := d.pages(t, func() error {
			_, err := d.WaitingBeyond(t.Context(), []ledger.Passed{{Key: key, After: far}})
			return err
		}); 4*beyond > all {
			t.Errorf("the scan beyond what was drained touches %d pages, and over it %d", beyond, all)
		}
		d.looks(t, drained)
	})
	t.Run("beside a paused profile", func(t *testing.T) {
		url := testserver.Postgres(t)
		d := newDrain(t, url, 50_000)
		ledgertest.FillPostgres(t, url, d.paused(30_000))
		flat(t, d.run(t), false)
	})
}

// looks are those of the metrics, of lists of profiles and of the bounds of a
// backlog: the first walks over all that was drained, and the later ones do not,
// neither while something waits nor when nothing does.
func (d *drain) looks(t *testing.T, at time.Time) {
	t.Helper()
	for _, waiting := range []int{probe, 0} {
		if waiting > 0 {
			for range waiting {
				d.Send([]string{"late@rcpt.example"}, ledgertest.WithLane(postledger.LaneBulk))
			}
		} else {
			d.settle(d.LeaseFor(d.Worker.ID, ledger.Want{Key: d.Key(postledger.LaneBulk), N: probe}).Leased, postledger.MoverWorker, postledger.ID{})
		}
		at = at.Add(time.Hour) // each begins with a look from the start
		for name, look := range map[string]func(time.Time) (int64, error){
			"backlogs": func(at time.Time) (int64, error) {
				b, err := d.BacklogsAt(t.Context(), at)
				return int64(b[d.Profile.ID].Waiting), err
			},
			"the count": func(at time.Time) (int64, error) { return d.CountWaitingAt(t.Context(), d.Profile.ID, 10_000, at) },
		} {
			at = at.Add(time.Hour)
			var pages []int
			for s := range 7 {
				pages = append(pages, d.pages(t, func() error {
					n, err := look(at.Add(time.Duration(s) * 15 * time.Second))
					if n != int64(waiting) {
						t.Errorf("%s: %d wait, want %d", name, n, waiting)
					}
					return err
				}))
			}
			t.Logf("%s of %d waiting: touches %d pages", name, waiting, pages)
			if first, last := pages[0], pages[6]; 4*last > first {
				t.Errorf("%s of %d waiting: touches %d pages, first from the start", name, waiting, pages)
			}
		}
	}
}

// paused is what waits under a profile that nobody claims from, due as long.
func (d *drain) paused(n int) ledgertest.Fill {
	return ledgertest.Fill{
		From: d.rows, To: d.rows + n, App: d.App.ID, Profile: d.NewID(),
		Lane: postledger.LaneBulk, Status: postledger.StatusQueued, Group: 1, Due: fillDue(), Bare: true,
	}
}

func long(t *testing.T) {
	t.Helper()
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("a million rows take minutes: set POSTLEDGER_LONG=1")
	}
}

const million = 1_000_000

// Invariant 9: a backlog of a million makes nothing dearer.
func TestLongClaimsFromAMillion(t *testing.T) {
	long(t)
	t.Run("plain", func(t *testing.T) {
		url := testserver.Postgres(t)
		d := newDrain(t, url, million)
		d.waiting(t, "before")
		flat(t, d.run(t), true)
		d.waiting(t, "after")
	})
	t.Run("old snapshot", func(t *testing.T) {
		url := testserver.Postgres(t)
		d := newDrain(t, url, million)
		holdSnapshot(t, url)
		flat(t, d.run(t), true)
		d.waiting(t, "after")
		d.waitingBeyond(t)
	})
	t.Run("beside a paused profile", func(t *testing.T) {
		url := testserver.Postgres(t)
		d := newDrain(t, url, million/2)
		ledgertest.FillPostgres(t, url, d.paused(million/2))
		flat(t, d.run(t), true)
	})
}

// waiting measures the scan for keys with work.
func (d *drain) waiting(t *testing.T, when string) {
	t.Helper()
	var took []time.Duration
	n := 0
	for range 9 {
		began := time.Now()
		keys, err := d.Waiting(t.Context())
		d.must(err)
		took, n = append(took, time.Since(began)), len(keys)
	}
	t.Logf("%s: waiting keys: %d in %s (first %s)", when, n, ms(median(took)), ms(took[0]))
}

// waitingBeyond measures the scan for keys with work as the worker that drained
// the backlog asks for them: right after, and a minute later.
func (d *drain) waitingBeyond(t *testing.T) {
	t.Helper()
	for i, later := range []time.Duration{0, 4 * time.Second, time.Minute} {
		var took []time.Duration
		var first ledger.Cursor
		for j := range 9 {
			at := d.trail.Begin(sentAt(d.rows).Add(later + time.Duration(j)*250*time.Millisecond))
			if j == 0 {
				first = at
			}
			began := time.Now()
			_, err := d.WaitingBeyond(t.Context(), []ledger.Passed{{Key: d.Key(postledger.LaneBulk), After: at}})
			d.must(err)
			took = append(took, time.Since(began))
			d.trail.Nothing()
		}
		t.Logf("%d: %s after the drain: waiting keys beyond the trail: %s (first, from %d: %s)", i, later, ms(median(took)), first.Due, ms(took[0]))
	}
}

func TestLongWaitingOfManyProfiles(t *testing.T) {
	long(t)
	url := testserver.Postgres(t)
	d := newDrain(t, url, 0)
	for i := range 200 {
		ledgertest.FillPostgres(t, url, ledgertest.Fill{
			From: i * 500, To: (i + 1) * 500, App: d.App.ID, Profile: d.NewID(),
			Lane: postledger.LaneBulk, Status: postledger.StatusQueued, Group: 1, Due: fillDue(), Bare: true,
		})
	}
	d.waiting(t, "200 profiles with 500 each")
}

// What a delivery costs in write-ahead log and on disk, from accept to settle.
func TestLongBytesOfADelivery(t *testing.T) {
	long(t)
	server := testserver.PrivatePostgres(t)
	d := newDrain(t, server.URL(), 0)
	lsn := func() (at int64) {
		d.must(d.conn.QueryRow(t.Context(), `SELECT (pg_current_wal_lsn() - '0/0')::bigint`).Scan(&at))
		return at
	}
	admin(t, "pgx", server.AdminURL(), `CHECKPOINT`)
	const n = 50_000
	var b strings.Builder
	begin := lsn()
	step := func(name string, from int64) int64 {
		to := lsn()
		fmt.Fprintf(&b, "%s %d bytes of log a delivery\n", name, (to-from)/n)
		return to
	}
	d.acceptAll(t, n)
	at := step("accept (1,000 a request)", begin)
	d.rows = n
	d.run(t)
	at = step("lease and settle (32 and 500 a turn)", at)
	step("all", begin)
	for _, table := range []string{"deliveries", "messages", "contents", "idempotency_keys"} {
		var heap, indexes int64
		d.must(d.conn.QueryRow(t.Context(), `SELECT pg_table_size($1::text::regclass), pg_indexes_size($1::text::regclass)`, table).Scan(&heap, &indexes))
		fmt.Fprintf(&b, "%s: %d bytes of table and %d of indexes a row\n", table, heap/n, indexes/n)
	}
	t.Log("\n" + b.String())
	if total := (at - begin) / n; total > 12_000 {
		t.Errorf("%d bytes of log a delivery", total)
	}
}
