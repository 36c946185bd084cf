package ledger_test

import (
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

func open(t *testing.T, url string) *ledger.Ledger {
	t.Helper()
	return openWith(t, url, 0)
}
