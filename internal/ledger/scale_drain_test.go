package ledger_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
)

// probe is the size of the claims that are measured: a worker's usual one.
const probe = 32

// drain empties a backlog as a worker does, and measures claims on the way.
type drain struct {
	*planned
	conn  *pgx.Conn
	rows  int
	trail ledger.Trail // of the backlog's key
}

// chunk is the size of the claims between the measured ones, a worker's largest.
const chunk = 500

// tenth is what was measured in one tenth of a backlog.
type tenth struct {
	claim, settle []time.Duration
	// back are claims that look back, as a worker's do every few seconds, and
	// whole those that begin at the start, as they do every few minutes.
	back, whole []time.Duration
	// immediate are from the call of Accept to the answer of the lease.
	immediate []time.Duration
	// blocks are the pages that a claim touched.
	blocks []int
}

// pace is how many deliveries a second the drained backlogs are sent at, by the
// clock that trails go by: a worker's usual rate, whatever the test's is.
const pace = 2000

// sentAt is the moment at which a worker would have sent n.
func sentAt(n int) time.Time {
	return time.Unix(1_780_000_000, 0).Add(time.Duration(n) * time.Second / pace)
}

func newDrain(t *testing.T, url string, rows int) *drain {
	t.Helper()
	d := &drain{planned: newPlanned(t, url, 0), rows: rows}
	var err error
	if d.conn, err = ledger.ConnectPostgres(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.conn.Close(t.Context()) })
	ledgertest.FillPostgres(t, url, ledgertest.Fill{
		To: rows, App: d.App.ID, Profile: d.Profile.ID, Lane: postledger.LaneBulk,
		Status: postledger.StatusQueued, Group: 1, Due: fillDue(), Bare: true,
	})
	return d
}

func (d *drain) run(t *testing.T) []tenth {
	t.Helper()
	out := make([]tenth, 10)
	var after ledger.Cursor
	for done, round := 0, 0; done < d.rows; round++ {
		at := &out[min(10*done/d.rows, 9)]
		want := ledger.Want{Key: d.Key(postledger.LaneBulk), N: chunk, After: d.trail.Begin(sentAt(done))}
		wentBack := want.After != after
		measured := round%2 == 0
		if measured {
			want.N = probe
		}
		if round%10 == 5 {
			at.blocks = append(at.blocks, d.blocks(t, ledger.Want{Key: want.Key, After: after}))
			at.immediate = append(at.immediate, d.immediate(t))
		}
		began := time.Now()
		c, err := d.Lease(t.Context(), d.Worker.ID, ledger.Counts{}, []ledger.Want{want})
		took := time.Since(began)
		d.must(err)
		leased := c[0].Leased
		d.trail.Claimed(&c[0])
		after = c[0].After
		began = time.Now()
		d.settle(leased, postledger.MoverWorker, postledger.ID{})
		switch {
		case wentBack && want.After == ledger.Cursor{}:
			at.whole = append(at.whole, took)
		case wentBack:
			at.back = append(at.back, took)
		case measured && len(leased) == probe:
			at.claim = append(at.claim, took)
			at.settle = append(at.settle, time.Since(began))
		}
		if done += len(leased); len(leased) == 0 && done < d.rows {
			t.Fatalf("%d of %d deliveries were claimed", done, d.rows)
		}
	}
	return out
}

// immediate sends one immediate message through the ledger, beside the backlog.
func (d *drain) immediate(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	d.Send([]string{"now@rcpt.example"})
	c, err := d.Lease(t.Context(), d.Worker.ID, ledger.Counts{}, []ledger.Want{{Key: d.Key(postledger.LaneImmediate), N: probe}})
	took := time.Since(began)
	d.must(err)
	if len(c[0].Leased) != 1 {
		t.Fatalf("leased %d immediate deliveries", len(c[0].Leased))
	}
	d.settle(c[0].Leased, postledger.MoverWorker, postledger.ID{})
	return took
}

// blocks runs a claim, undoes it, and counts the pages it touched: unlike its
// time that does not depend on what else the machine does.
func (d *drain) blocks(t *testing.T, want ledger.Want) int {
	t.Helper()
	want.N = probe
	var s ledger.Statement
	for _, sent := range d.trace.Of(func() {
		// A worker that is not there claims nothing, with the same statement.
		_, err := d.Lease(t.Context(), d.NewID(), ledger.Counts{}, []ledger.Want{want})
		d.must(err)
	}) {
		if plannable(sent.SQL) {
			s = sent
		}
	}
	s.Args[0] = d.Worker.ID
	pages, rows := d.explained(t, s)
	if rows != probe {
		t.Fatalf("the explained claim took %d", rows)
	}
	return pages
}

// pages counts the pages that a look touches.
func (d *drain) pages(t *testing.T, look func() error) int {
	t.Helper()
	total := 0
	for _, s := range d.trace.Of(func() { d.must(look()) }) {
		if plannable(s.SQL) {
			pages, _ := d.explained(t, s)
			total += pages
		}
	}
	return total
}

// explained runs a statement and undoes it; it counts the pages it touched and
// its rows.
func (d *drain) explained(t *testing.T, s ledger.Statement) (pages, rows int) {
	t.Helper()
	tx, err := d.conn.Begin(t.Context())
	d.must(err)
	defer func() { d.must(tx.Rollback(t.Context())) }()
	var text string
	d.must(tx.QueryRow(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+s.SQL, s.Args...).Scan(&text))
	var plans []struct {
		Plan struct {
			Rows int `json:"Actual Rows"`
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	d.must(json.Unmarshal([]byte(text), &plans))
	return plans[0].Plan.Hit + plans[0].Plan.Read, plans[0].Plan.Rows
}

// holdSnapshot leaves a transaction open that keeps every dead row alive, as a
// report or a backup does.
func holdSnapshot(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	for _, q := range []string{`BEGIN ISOLATION LEVEL REPEATABLE READ`, `SELECT count(*) FROM ledger_state`} {
		if _, err := conn.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
}

// flat fails when a claim at the end of a backlog costs more than half as much
// again as one at its beginning: in pages touched, and in time as a multiple of
// the settle beside it, which does not depend on the position.
func flat(t *testing.T, tenths []tenth, byTime bool) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, "tenth  claims  claim p50  settle p50  pages  back p50/max  from the start p50  immediate p50/max")
	for i, x := range tenths {
		fmt.Fprintf(&b, "%5d  %6d  %9s  %10s  %5d  %s/%s  %s  %s/%s\n", i+1, len(x.claim), ms(median(x.claim)), ms(median(x.settle)),
			median(x.blocks), ms(median(x.back)), ms(most(x.back)), ms(median(x.whole)), ms(median(x.immediate)), ms(most(x.immediate)))
	}
	t.Log("\n" + b.String())
	first, last := &tenths[0], &tenths[9]
	if len(first.blocks) == 0 || len(last.blocks) == 0 {
		t.Fatal("the first or the last tenth has no sample")
	}
	if a, z := median(first.blocks), median(last.blocks); float64(z) > 1.5*float64(a) {
		t.Errorf("a claim touches %d pages in the last tenth and %d in the first", z, a)
	}
	ratio := func(x *tenth) float64 { return float64(median(x.claim)) / float64(median(x.settle)) }
	if a, z := ratio(first), ratio(last); byTime && z > 1.5*a {
		t.Errorf("a claim costs %.2f settles in the last tenth and %.2f in the first", z, a)
	}
}

// most is the longest of the samples; a tenth may have none.
func most(v []time.Duration) time.Duration {
	if len(v) == 0 {
		return 0
	}
	return slices.Max(v)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

func median[T int | time.Duration](v []T) T {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// acceptAll accepts n bulk messages with a key and a recipient each.
func (d *drain) acceptAll(t *testing.T, n int) {
	t.Helper()
	text := strings.Repeat("week 12, ", 60)
	for i := 0; i < n; i += 1000 {
		var ms []ledger.NewMessage
		for j := range min(1000, n-i) {
			m := d.Message([]string{fmt.Sprintf("%d@rcpt.example", i+j)}, ledgertest.WithKey(fmt.Sprintf("key-%d", i+j), "f"), ledgertest.WithLane(postledger.LaneBulk))
			m.Content.Text = text
			ms = append(ms, m)
		}
		_, err := d.Accept(t.Context(), d.Request(ms...))
		d.must(err)
	}
}

// fillDue is when the first of a backlog was due: a minute ago.
func fillDue() int64 { return time.Now().Add(-time.Minute).UnixMicro() }

// admin runs statements on a database of a test's own.
func admin(t *testing.T, driver, dsn string, statements ...string) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
