package ledger_test

import (
	"database/sql"
	"testing"

	"github.com/postledger/postledger/internal/testserver"
)

// Nothing of a transaction is written that did not begin, or did not end.
func TestABrokenTransactionWritesNothing(t *testing.T) {
	url := testserver.Postgres(t)
	l := open(t, url)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })

	if err := l.Careless(t.Context(), "careless"); err == nil {
		t.Error("a transaction whose first batch failed was told as committed")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = l.Panics(t.Context(), "panics")
	}()
	var written, open int
	if err := db.QueryRowContext(t.Context(), `SELECT
		(SELECT count(*) FROM settings WHERE name IN ('careless', 'panics')),
		(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%')`).Scan(&written, &open); err != nil {
		t.Fatal(err)
	}
	if written != 0 || open != 0 {
		t.Errorf("%d settings were written, %d transactions are open", written, open)
	}
}
