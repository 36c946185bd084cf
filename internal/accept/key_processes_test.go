package accept_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/testserver"
)

// statements runs SQL beside the ledger, as an operator could.
func (w *world) statements() *sql.DB {
	w.t.Helper()
	db, err := sql.Open("pgx", w.url)
	must(w.t, err)
	w.t.Cleanup(func() { must(w.t, db.Close()) })
	return db
}

// blocked waits until n connections to the test's database wait for a lock.
func blocked(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	for found := -1; found != n; {
		must(t, t.Context().Err())
		must(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&found))
	}
}

// Invariant 1: another process has written the key and not committed yet. Who
// comes second waits for its commit, and answers by it.
func TestAKeyThatAnotherProcessWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testserver.Postgres(t))
	first := w.service(openLedger(t, w.url))
	same, other := w.service(openLedger(t, w.url)), w.service(openLedger(t, w.url))
	// The row of the quota is what an accept takes last: who holds it stops
	// the others between their key and their commit.
	_, err := w.Accept(t.Context(), w.caller, good())
	must(t, err)
	db := w.statements()
	hold, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	_, err = hold.ExecContext(t.Context(), `SELECT used FROM quotas FOR UPDATE`)
	must(t, err)

	type answer struct {
		rec accept.Receipt
		err error
	}
	ask := func(s *accept.Service, r *accept.Request, waiting int) <-chan answer {
		out := make(chan answer, 1)
		go func() {
			rec, err := s.Accept(t.Context(), w.caller, r)
			out <- answer{rec, err}
		}()
		blocked(t, db, waiting)
		return out
	}
	one := ask(first, keyed("k"), 1)
	two := ask(same, keyed("k"), 2)
	changed := keyed("k")
	changed.Subject = "Week 13"
	three := ask(other, changed, 3)
	must(t, hold.Rollback())

	a := <-one
	must(t, a.err)
	equal(t, "the first is a replay", a.rec.Replayed, false)
	b := <-two
	must(t, b.err)
	equal(t, "the second's message", b.rec.MessageID, a.rec.MessageID)
	equal(t, "the second is a replay", b.rec.Replayed, true)
	refused(t, (<-three).err, accept.CodeMismatch)
	equal(t, "messages", w.rows()["messages"], 2)
}

// When the key is always another process's before it can be written, and never
// there to be read, the caller is asked to come again, and nothing is kept.
func TestAKeyThatOthersWriteAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testserver.Postgres(t))
	db := w.statements()
	// The trigger says what the primary key does of a key that is there.
	for _, s := range []string{
		`CREATE FUNCTION taken() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN RAISE unique_violation USING CONSTRAINT = ''idempotency_keys_pkey''; END'`,
		`CREATE TRIGGER taken BEFORE INSERT ON idempotency_keys FOR EACH ROW WHEN (NEW.key = 'k') EXECUTE FUNCTION taken()`,
	} {
		_, err := db.ExecContext(t.Context(), s)
		must(t, err)
	}
	for _, attached := range []bool{false, true} {
		r := keyed("k")
		if attached {
			r.Attachments = file(nil)
		}
		before := w.rows()
		_, err := w.Accept(t.Context(), w.caller, r)
		refused(t, err, accept.CodeInProgress)
		var busy *accept.BusyError
		if !errors.As(err, &busy) || busy.RetryAfter != time.Second {
			t.Errorf("got %v", err)
		}
		for table, n := range w.rows() {
			equal(t, table, n, before[table])
		}
		sameList(t, "blobs", w.blobKeys(), nil)
	}
}
