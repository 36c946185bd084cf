package deliver_test

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
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

// gate holds a COMMIT of PostgreSQL inside the server: a deferred trigger
// waits for a lock that the test has. So the test can cut the connection while
// the COMMIT is under way, and then say how it ends.
type gate struct {
	t    *testing.T
	conn *pgx.Conn
}

const gateLock = 4711

// newGate closes a gate for transactions that do to the table what a trigger's
// text says ("UPDATE ON deliveries" and a condition).
func newGate(t *testing.T, url, event, when string) *gate {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if _, err := conn.Exec(ctx, `DROP FUNCTION gate() CASCADE`); err != nil {
			t.Error(err)
		}
		conn.Close(ctx)
	})
	g := &gate{t, conn}
	g.exec(`CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN LOOP
			BEGIN
				PERFORM pg_advisory_xact_lock(4711);
				RETURN NULL;
			EXCEPTION WHEN query_canceled THEN -- the driver asks for it when its connection is cut
			END;
		END LOOP; END'`)
	g.exec(`CREATE CONSTRAINT TRIGGER gate AFTER ` + event + ` DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW WHEN (` + when + `) EXECUTE FUNCTION gate()`)
	g.exec(`SELECT pg_advisory_lock(4711)`)
	return g
}

func (g *gate) exec(sql string) {
	g.t.Helper()
	if _, err := g.conn.Exec(g.t.Context(), sql); err != nil {
		g.t.Fatal(err)
	}
}

// reached waits until a COMMIT stands at the gate.
func (g *gate) reached() {
	g.t.Helper()
	for poll := time.NewTicker(5 * time.Millisecond); ; <-poll.C {
		n := 0
		err := g.conn.QueryRow(g.t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
			AND objid = $1 AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, gateLock).Scan(&n)
		if err != nil {
			g.t.Fatal(err)
		}
		if n > 0 {
			return
		}
	}
}

// blocked waits until a transaction waits for what the one at the gate locked.
func (g *gate) blocked() {
	g.t.Helper()
	for poll := time.NewTicker(5 * time.Millisecond); ; <-poll.C {
		n := 0
		err := g.conn.QueryRow(g.t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'transactionid'`).Scan(&n)
		if err != nil {
			g.t.Error(err)
		}
		if err != nil || n > 0 {
			return
		}
	}
}

// pass lets it commit, and every later one.
func (g *gate) pass() { g.exec(`SELECT pg_advisory_unlock(4711)`) }

// undo ends the session that stands at the gate, and opens it.
func (g *gate) undo() {
	g.exec(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711
		AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	g.pass()
}

// fates are how a COMMIT ends that got no answer.
var fates = map[string]func(*gate){"committed": (*gate).pass, "undone": (*gate).undo}

// proxied opens the ledger once more, through a proxy.
func proxied(t *testing.T, database string) (*ledger.Ledger, *testserver.TCPProxy) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	proxy := testserver.Proxy(t, u.Host)
	u.Host = proxy.Addr()
	l, err := ledger.Open(t.Context(), u.String(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, proxy
}

// spy counts how often a worker looked for its leases.
type spy struct {
	*ledger.Ledger
	looks atomic.Int64
}

func (s *spy) Leases(ctx context.Context, worker, after postledger.ID, limit int) ([]ledger.Leased, error) {
	out, err := s.Ledger.Leases(ctx, worker, after, limit)
	if err == nil && after.IsZero() {
		s.looks.Add(1)
	}
	return out, err
}

// A settle whose COMMIT got no answer is repeated: nothing is lost, nothing is
// counted twice, and nothing leaves twice (invariants 3, 4 and 5).
func TestASettleWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, fate := range fates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := postgres(t)
			r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, database) }, transporttest.HopConfig{Rules: []transporttest.Rule{
				{At: transporttest.StepRcpt, Recipient: "gone@x.example", Do: transporttest.Answer("550 5.1.1 unknown")},
				{At: transporttest.StepRcpt, Recipient: "later@x.example", Do: transporttest.Answer("450 4.2.0 greylisted")},
			}}, nil)
			ids := r.Send([]string{"a@x.example", "gone@x.example", "later@x.example"})
			g := newGate(t, database, "UPDATE ON deliveries", "OLD.status = 'sending'")
			l, proxy := proxied(t, database)
			r.tune = func(c *deliver.Config) { c.Ledger = l }
			r.start()
			g.reached()
			proxy.Cut()
			fate(g)

			rows := r.settled(ids[0], ids[1])
			r.until("the deferred one waits", func() bool { return r.Row(ids[2]).Attempts > 0 })
			rows = append(rows, r.Row(ids[2]))
			for i, want := range []postledger.Status{postledger.StatusSent, postledger.StatusFailed, postledger.StatusQueued} {
				if d := rows[i]; d.Status != want || d.Attempts != 1 || d.Fence != 1 {
					t.Errorf("row %d is %s/%s, attempt %d, fence %d; want %s at the first", i, d.Status, d.Reason, d.Attempts, d.Fence, want)
				}
			}
			if n := r.copies()["a@x.example"]; n != 1 {
				t.Errorf("%d copies", n)
			}
		})
	}
}

// What a lease without an answer leased is found, and leaves once; also when
// its COMMIT comes after the first look for it.
func TestALeaseWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fate  func(*gate)
		late  bool
		fence int64
	}{
		{"committed", (*gate).pass, false, 2},
		{"committed late", (*gate).pass, true, 2},
		{"undone", (*gate).undo, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			database := postgres(t)
			r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, database) }, transporttest.HopConfig{}, nil)
			ids := r.Send([]string{"a@x.example", "b@x.example"})
			ids = append(ids, r.Send([]string{"c@x.example"})...)
			g := newGate(t, database, "UPDATE ON deliveries", "NEW.status = 'sending'")
			l, proxy := proxied(t, database)
			watched := &spy{Ledger: l}
			r.tune = func(c *deliver.Config) { c.Ledger = watched }
			r.start()
			g.reached()
			proxy.Cut()
			if c.late {
				looks := watched.looks.Load()
				r.until("it was looked for", func() bool { return watched.looks.Load() > looks })
			}
			c.fate(g)
			for _, d := range r.settled(ids...) {
				if d.Status != postledger.StatusSent || d.Attempts != 1 || d.Fence != c.fence {
					t.Errorf("%s is %s/%s, attempt %d, fence %d", d.Address, d.Status, d.Reason, d.Attempts, d.Fence)
				}
				if n := r.copies()[d.Address]; n != 1 {
					t.Errorf("%s has %d copies", d.Address, n)
				}
			}
		})
	}
}

// A lease of a dead worker may commit while another recovers from it. The worker
// has not ended then: what it leased would belong to nobody. Nor is its journal
// gone, which proves that nothing of it was sent.
func TestALeaseThatCommitsDuringRecovery(t *testing.T) {
	t.Parallel()
	database := postgres(t)
	r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, database) }, transporttest.HopConfig{}, nil)
	state, err := r.ReadState(t.Context())
	must(t, err)
	dead, err := journal.Create(r.dir, journal.Owner{Ledger: state.LedgerID, Worker: r.Worker.ID}, 8)
	must(t, err)
	must(t, dead.Close())
	ids := r.Send([]string{"a@x.example"})
	g := newGate(t, database, "UPDATE ON deliveries", "NEW.status = 'sending'")
	leased := make(chan error, 1)
	go func() {
		_, err := r.Lease(context.WithoutCancel(t.Context()), r.Worker.ID, ledger.Counts{}, []ledger.Want{{Key: r.Key(postledger.LaneImmediate), N: 1}})
		leased <- err
	}()
	g.reached()
	go func() {
		g.blocked() // the recovery waits for what the lease has locked
		g.pass()
	}()
	r.tune = func(c *deliver.Config) { c.Recovery = 50 * time.Millisecond }
	r.start()
	must(t, <-leased)
	if d := r.settled(ids...)[0]; d.Status != postledger.StatusSent || d.Fence != 2 {
		t.Errorf("%s/%s, fence %d", d.Status, d.Reason, d.Fence)
	}
	r.eachOnce(1)
}

// Invariant 1 across a lost COMMIT reply: the caller is told what happened, or
// that nobody knows.
func TestAnAcceptWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		fate func(*gate)
		gone bool
	}{
		{"committed", (*gate).pass, false},
		{"undone", (*gate).undo, false},
		{"committed, and the database is gone", (*gate).pass, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			database := postgres(t)
			w := ledgertest.NewWorld(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, database) })
			g := newGate(t, database, "INSERT ON messages", "true")
			l, proxy := proxied(t, database)
			m := w.Message([]string{"a@x.example"}, ledgertest.WithKey("k-1", "f-1"))
			type answer struct {
				out ledger.Accepted
				err error
			}
			answered := make(chan answer, 1)
			go func() {
				out, err := l.Accept(context.Background(), w.Request(m))
				answered <- answer{out, err}
			}()
			g.reached()
			proxy.Refuse(c.gone)
			proxy.Cut()
			c.fate(g)
			got := <-answered
			_, found, err := w.DeliveryByID(t.Context(), m.Deliveries[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case c.gone:
				if !errors.Is(got.err, ledger.ErrFateUnknown) {
					t.Errorf("accept: %v, want ErrFateUnknown", got.err)
				}
			case c.name == "committed":
				if got.err != nil || !found {
					t.Errorf("accept: %v, found %v", got.err, found)
				}
			default:
				if got.err == nil || errors.Is(got.err, ledger.ErrFateUnknown) || found {
					t.Errorf("accept: %v, found %v", got.err, found)
				}
			}
			// Whatever was said, the caller may repeat it with the key.
			proxy.Refuse(false)
			again := w.Message([]string{"a@x.example"}, ledgertest.WithKey("k-1", "f-1"))
			// A connection is asked for again a moment after one was refused.
			var refused error
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
				if _, refused = l.Accept(t.Context(), w.Request(again)); refused == nil {
					break
				}
			}
			if refused != nil {
				t.Errorf("repeat: %v", refused)
			}
			if _, twice, _ := w.DeliveryByID(t.Context(), again.Deliveries[0].ID); twice == found {
				t.Errorf("accepted the first time %v, and the second %v", found, twice)
			}
		})
	}
}
