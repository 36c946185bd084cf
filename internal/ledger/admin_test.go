package ledger_test

import (
	"path/filepath"
	"testing"

	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/testserver"
)

// bothDatabases runs a group of the suite on each.
func bothDatabases(t *testing.T, run func(*testing.T, ledgertest.Opener)) {
	t.Run("sqlite", func(t *testing.T) {
		run(t, func(t *testing.T) *ledger.Ledger {
			return open(t, "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"))
		})
	})
	t.Run("postgres", func(t *testing.T) {
		run(t, func(t *testing.T) *ledger.Ledger { return open(t, testserver.Postgres(t)) })
	})
}

func TestAdmin(t *testing.T) { bothDatabases(t, ledgertest.Admin) }
