package audience_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/audience"
	"github.com/postledger/postledger/lens/catalogue"
)

// A million rows with every second address a duplicate in another spelling are
// counted exactly, in memory that does not grow with them: the heap stays below 48
// MiB, of which marks are 8.
func TestLongCountAMillion(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("set POSTLEDGER_LONG=1 to run it")
	}
	w := newWorld(t, catalogue.PostgreSQL, shop)
	w.exec(`DELETE FROM orders`)
	w.exec(`DELETE FROM users`)
	const rows = 1_000_000
	w.exec(`INSERT INTO users (id, email, name, tenant) SELECT i, CASE WHEN i % 2 = 0 THEN 'User.' || i || '@In.test' ELSE 'user.' || i + 1 || '@in.test' END, 'n', 1
		FROM generate_series(1, 800000) i`)
	w.exec(`INSERT INTO users (id, email, name, tenant) SELECT i, 'single' || i || '@in.test', 'n', 1 FROM generate_series(800001, 1000000) i`)
	w.exec(`ANALYZE users`)
	w.suppress("USER.2@in.test")
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	idle, most := m.HeapAlloc, uint64(0)
	began := time.Now()
	p, err := w.Preview(t.Context(), w.app, of(everyone), nil, audience.Want{Counts: true}, func(p audience.Progress) {
		if p.Read%50_000 == 0 {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	})
	must(t, err)
	took := time.Since(began)
	want := audience.Counts{Matched: rows, Mailable: 599_999, Duplicate: 400_000, Suppressed: 1}
	if *p.Counts != want {
		t.Errorf("%+v, want %+v", *p.Counts, want)
	}
	above := float64(most-min(most, idle)) / (1 << 20)
	t.Logf("%d rows in %s (%.0f a second), heap at most %.1f MiB above idle", rows, took.Round(time.Millisecond), rows/took.Seconds(), above)
	if above > 48 {
		t.Errorf("the heap grew by %.1f MiB", above)
	}
}
