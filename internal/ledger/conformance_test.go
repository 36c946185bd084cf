package ledger_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/testserver"
)

func TestSQLite(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) *ledger.Ledger {
		return open(t, "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"))
	})
}

func TestPostgres(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) *ledger.Ledger {
		return open(t, testserver.Postgres(t))
	})
}

// What a role or a database has for others is not in force for us.
func TestConnectionsHaveTheirOwnSettings(t *testing.T) {
	t.Parallel()
	url := testserver.Postgres(t)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for setting, unusual := range map[string]string{
		"default_transaction_isolation": "serializable", "synchronous_commit": "off", "timezone": "Asia/Kathmandu", "plan_cache_mode": "force_custom_plan",
	} {
		if _, err := db.ExecContext(t.Context(), `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET `+setting+` = %L', current_database(), '`+unusual+`'); END $$`); err != nil {
			t.Fatalf("%s: %v", setting, err)
		}
	}
	l := open(t, url)
	for setting, want := range map[string]string{
		"transaction_isolation": "read committed", "synchronous_commit": "on", "timezone": "UTC", "plan_cache_mode": "force_generic_plan",
	} {
		got, err := l.Shows(t.Context(), setting)
		if err != nil || got != want {
			t.Errorf("%s is %q, want %q: %v", setting, got, want, err)
		}
	}
}

func open(t *testing.T, url string) *ledger.Ledger {
	t.Helper()
	return openWith(t, url, 0)
}
