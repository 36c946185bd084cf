package ledger_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
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
	t.Run("beside a paused profile", func(t *testing.T) {
		url := testserver.Postgres(t)
		d := newDrain(t, url, 50_000)
		ledgertest.FillPostgres(t, url, d.paused(30_000))
		flat(t, d.run(t), false)
	})
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
	for _, table := range []string{"deliveries", "messages", "message_contents", "idempotency_keys"} {
		var heap, indexes int64
		d.must(d.conn.QueryRow(t.Context(), `SELECT pg_table_size($1::text::regclass), pg_indexes_size($1::text::regclass)`, table).Scan(&heap, &indexes))
		fmt.Fprintf(&b, "%s: %d bytes of table and %d of indexes a row\n", table, heap/n, indexes/n)
	}
	t.Log("\n" + b.String())
	if total := (at - begin) / n; total > 12_000 {
		t.Errorf("%d bytes of log a delivery", total)
	}
}
