package ledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/testserver"
)

// Whatever takes all the connections, heartbeats go on: a worker that cannot
// write one for 20 s sends nothing more. And what people look at, however slow,
// leaves connections to leases and settles.
func TestSlowQueriesStarveNoHeartbeat(t *testing.T) {
	t.Parallel()
	// One is the heartbeats' alone, and one the accepts'.
	const connections, shared = 6, 6 - 2
	for name, c := range map[string]struct {
		slow func(context.Context, *ledger.Ledger, postledger.ID) error
		// holds is how many connections they have then.
		holds int
		// leases says that what they leave is enough to lease and settle.
		leases bool
	}{
		"lists": {func(ctx context.Context, l *ledger.Ledger, _ postledger.ID) error {
			_, err := l.Messages(ctx, ledger.Filter{}, ledger.Paging{Limit: 10})
			return err
		}, shared / 2, true},
		"books": {func(ctx context.Context, l *ledger.Ledger, _ postledger.ID) error {
			_, err := l.Books(ctx, nil)
			return err
		}, shared / 2, true},
		"short reads": {func(ctx context.Context, l *ledger.Ledger, id postledger.ID) error {
			_, err := l.LoadMessages(ctx, []postledger.ID{id}, 1000)
			return err
		}, shared, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := testserver.Postgres(t)
			w := ledgertest.NewWorld(t, func(t *testing.T) *ledger.Ledger { return openWith(t, url, connections) })
			id := w.Row(w.Send([]string{"a@rcpt.example"})[0]).MessageID
			unlock := lockMessages(t, url)
			ctx, cancel := context.WithCancel(t.Context())
			const many = 4 * connections
			ended := make(chan error, many)
			for range many {
				go func() { ended <- c.slow(ctx, w.Ledger, id) }()
			}
			waiting(t, url, c.holds)
			beat := func() {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				if _, err := w.Heartbeat(ctx, w.Worker.ID, ledger.Counts{}); err != nil {
					t.Errorf("beside %s: %v", name, err)
				}
			}
			beat()
			if c.leases {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				got, err := w.Lease(ctx, w.Worker.ID, ledger.Counts{}, []ledger.Want{{Key: w.Key(postledger.LaneImmediate), N: 1}})
				if err != nil || len(got[0].Leased) != 1 {
					t.Errorf("beside %s: leased %v, %v", name, got, err)
				}
			}
			beat()
			select {
			case err := <-ended:
				t.Errorf("it was not slow: %v", err)
				ended <- err
			default:
			}
			cancel()
			unlock()
			for range many {
				if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
			}
			beat()
		})
	}
}

// A heartbeat's own connection that is gone, and cannot be made anew, does not
// silence the worker while another is there: the next heartbeat goes by that.
func TestAHeartbeatHasTwoWays(t *testing.T) {
	t.Parallel()
	url := testserver.Postgres(t)
	w := ledgertest.NewWorld(t, func(t *testing.T) *ledger.Ledger { return openWith(t, url, 6) })
	beat := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := w.Heartbeat(ctx, w.Worker.ID, ledger.Counts{})
		return err
	}
	if err := beat(); err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	database := config.Database
	config.Database = "postgres"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	admit := func(yes string) {
		t.Helper()
		if _, err := conn.Exec(context.Background(), `ALTER DATABASE `+pgx.Identifier{database}.Sanitize()+` ALLOW_CONNECTIONS `+yes); err != nil {
			t.Fatal(err)
		}
	}
	admit("false")
	defer admit("true")
	var gone bool
	if err := conn.QueryRow(t.Context(), `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
		WHERE datname = $1 ORDER BY state_change DESC LIMIT 1`, database).Scan(&gone); err != nil || !gone {
		t.Fatalf("end the heartbeat's connection, the last that was used: %v, %v", gone, err)
	}
	failed := 0
	for range 4 {
		if err := beat(); err != nil {
			failed++
			t.Log(err)
		}
	}
	if failed > 1 {
		t.Errorf("%d of 4 heartbeats failed", failed)
	}
}

// openWith is open with so many connections.
func openWith(t *testing.T, url string, connections int) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), url, ledger.Options{Connections: connections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// lockMessages makes everything wait that reads messages, until unlock.
func lockMessages(t *testing.T, url string) (unlock func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	for _, q := range []string{`BEGIN`, `LOCK TABLE messages IN ACCESS EXCLUSIVE MODE`} {
		if _, err := conn.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if _, err := conn.Exec(t.Context(), `ROLLBACK`); err != nil {
			t.Fatal(err)
		}
	}
}

// waiting returns when n sessions of the database wait for a lock.
func waiting(t *testing.T, url string, n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for until, got := time.Now().Add(20*time.Second), 0; ; <-tick.C {
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got == n {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%d sessions wait for a lock, want %d", got, n)
		}
	}
}
